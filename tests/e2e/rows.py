# SPDX-License-Identifier: Apache-2.0
"""Ways round a network policy, and what has to come of each: a row of the suite "gateway" for each of them.

A test says in its name which rows it shows: test_a1_a2_a10_the_hello_says_where_to, G14_content_is_framed_anew. BY has those
that don't. A row without a test is a failure, but for those of UNTESTED. Rows are not numbered anew: names of tests have them.
"""
import re

ROWS = {
    # Destinations and names.
    "A1": "a false address for an allowed name", "A2": "an allowed name in the hello, and a stranger's address",
    "A3": "an address, and no name at all", "A4": "an allowed name's address without the name",
    "A5": "a hello with an address for a name", "A6": "a name that leads inside the second time",
    "A7": "an answer with a good and a bad address", "A8": "an alias of a name that is not allowed",
    "A9": "an answer with a stranger's records", "A10": "two names on one address",
    "A11": "an allowed name that leads to the LAN", "A12": "an allowed name that leads to this machine",
    "A13": "localhost and names of hosts of containers", "A14": "search domains", "A15": "the apex of a wildcard",
    "A16": "a deep name below a wildcard", "A17": "names that only look like those below a wildcard",
    "A18": "capital letters", "A19": "dots at the end", "A20": "empty labels", "A21": "letters that look like ASCII",
    "A22": "digits and dots that are not ASCII", "A23": "NUL in a name", "A24": "separators in a name",
    "A25": "too long a name or label", "A26": "an underscore", "A27": "zones of IPv6 in a name",
    "A28": "a user before the host of a URL", "A29": "an allowed name on another port", "A30": "ports that are none",
    # Classes of addresses.
    "B1": "loopback", "B2": "a name that leads to loopback", "B3": "unspecified addresses",
    "B4": "addresses written as other numbers", "B5": "IPv4 mapped into IPv6", "B6": "IPv4 in old forms of IPv6",
    "B7": "NAT64", "B8": "6to4 and Teredo", "B9": "metadata services", "B10": "link-local addresses",
    "B11": "private addresses", "B12": "reserved addresses", "B13": "multicast", "B14": "broadcast",
    "B15": "other ports of the resolver's and the router's addresses", "B16": "names for the machine",
    "B17": "another sandbox", "B18": "IPv6 where the machine has none", "B19": "sockets that are not of IP",
    # Who is at the other end of TLS and HTTP.
    "C1": "another host in the request than in the hello", "C2": "the same, where TLS passes through",
    "C3": "two authorities in a request", "C4": "a connection reused for a second name",
    "C5": "a second request for another host", "C6": "a pipelined request for another host",
    "C7": "an absolute target", "C8": "empty lines before a request", "C9": "no host, or several",
    "C10": "old versions of HTTP", "C11": "another port in Host", "C12": "TLS without a name, to an address with one",
    "C13": "an encrypted hello", "C14": "a long hello in pieces", "C15": "a hello that never ends",
    "C16": "old versions of TLS", "C17": "HTTP/2 alone is offered", "C18": "what is not HTTP inside of TLS",
    "C19": "a server that wants a client's certificate", "C20": "a client that pins a certificate",
    "C21": "servers with bad certificates", "C22": "renegotiation, key updates, early data", "C23": "WebSocket",
    "C24": "an upgrade to HTTP/2", "C25": "CONNECT to an allowed host that is a proxy",
    "C26": "a proxy that the policy allows", "C27": "Expect: 100-continue", "C28": "TLS on another port",
    "C29": "servers that speak first", "C30": "TLS that begins later (STARTTLS)",
    # DNS.
    "D1": "data in names that are asked for", "D2": "the same, below an allowed wildcard", "D3": "another resolver",
    "D4": "DNS over TLS", "D5": "DNS over QUIC", "D6": "DNS over HTTPS", "D7": "other types of records",
    "D8": "two questions at once", "D9": "options of EDNS", "D10": "capitals in a question", "D11": "a time to live of 0",
    "D12": "addresses that change", "D13": "an address that is remembered for long", "D14": "a resolver that lies",
    "D15": "a resolver that fails", "D16": "where names are looked up", "D17": "names by multicast",
    "D18": "names of private addresses", "D19": "answers that are malformed or cut", "D20": "another resolv.conf",
    "D21": "a flood of questions",
    # Other protocols.
    "E1": "QUIC", "E2": "UDP that is allowed", "E3": "datagrams of strangers", "E4": "ICMP", "E5": "raw sockets",
    "E6": "half-closed, urgent and early bytes", "E7": "other protocols, to an allowed name",
    "E8": "a port that is not listed", "E9": "protocols that are called back", "E10": "mail", "E11": "many peers",
    "E12": "NTP", "E13": "listening", "E14": "tunnels through an allowed SSH host",
    # Out, by way of what is allowed.
    "F1": "a stranger's place at an allowed host", "F2": "an allowed host that fetches for others",
    "F3": "a redirect to elsewhere", "F4": "a redirect of a request with a secret", "F5": "timing, sizes, random numbers",
    "F6": "a stranger's content at an allowed network of caches", "F7": "cookies and referrers",
    # Secrets.
    "G1": "without TLS", "G2": "an address that the guest chose", "G3": "another secret's host", "G4": "a placeholder in pieces",
    "G5": "an encoded placeholder", "G6": "in a path or a query", "G7": "a value with more than one line",
    "G8": "the guest's own credentials", "G9": "fields that a Connection field takes out", "G10": "servers that say what they got",
    "G11": "a value in an answer", "G12": "answers that unpack to very much", "G13": "logs, arguments, variables",
    "G14": "framing that can be read in two ways", "G15": "content without framing", "G16": "splitting by a value",
    "G17": "bad responses", "G18": "a server that closes too early", "G19": "connections shared", "G20": "signed requests",
    "G21": "answers with new secrets", "G22": "content that changes its length", "G23": "HTTP/2's tables",
    "G24": "a secret that changes meanwhile", "G25": "a secret that comes later", "G26": "the authority's key",
    "G27": "a root of the guest's own", "G28": "another sandbox's authority",
    # Too much.
    "H1": "slow requests", "H2": "long heads", "H3": "floods of HTTP/2", "H4": "idle connections", "H5": "very many names",
    "H6": "a storm of connections", "H7": "chunk sizes and extensions", "H8": "endless uploads", "H9": "malformed bytes",
    "H10": "one sandbox in another's way",
    # Configuration.
    "I1": "programs without proxy settings", "I2": "inherited proxy settings", "I3": "trust that is set by the user",
    "I4": "a list of allowed names, and no deny", "I5": "an empty list", "I6": "unknown fields", "I7": "rules that contradict",
    "I8": "an allow inside the floor", "I9": "pause and fork", "I10": "a clock that is behind", "I11": "a long life",
    "I12": "the gateway ends", "I13": "a log that is full",
    # Changes.
    "J1": "tightened under a download", "J2": "tightened under a session", "J3": "between two requests", "J4": "loosened",
    "J5": "an invalid policy", "J6": "told to be in force", "J7": "two changes at once", "J8": "an answer from before",
    "J9": "a proxy that goes",
    # A proxy of the policy's.
    "K1": "it fails", "K2": "it is inside the floor", "K3": "too long names and passwords", "K4": "it talks nonsense",
    "K5": "it looks names up", "K6": "UDP", "K7": "hosts that go past it",
}

# Tests without rows in their names: "FILE/CASE" of tests/unit, and as the end-to-end tests are printed.
BY = {
    "A5": ["tls_hello/addresses_are_told_apart", "policy_judge/flows_without_sense"],
    "A21": ["policy_host/internationalized_names"],
    "A22": ["policy_host/numbers_that_are_addresses"],
    "A23": ["policy_host/a_nul_in_a_name"],
    "A24": ["policy_host/texts_that_are_no_host"],
    "A25": ["policy_host/lengths", "dns/a_name_has_at_most_253_bytes"],
    "A27": ["policy_host/texts_that_are_no_host"],
    "A30": ["policy_host/ports", "policy_judge/flows_without_sense"],
    "B4": ["policy_host/numbers_that_are_addresses"],
    "B6": ["policy_vectors/classes_of_addresses", "ways_b_the_floor_is_closed_whatever_a_policy_says"],
    "B7": ["policy_vectors/classes_of_addresses", "ways_b_the_floor_is_closed_whatever_a_policy_says"],
    "B8": ["policy_vectors/classes_of_addresses", "ways_b_the_floor_is_closed_whatever_a_policy_says"],
    "B9": ["policy_vectors/classes_of_addresses", "policy_judge/an_operators_exemption_does_not_open_metadata"],
    "C4": ["tls_authority/alternative_names_of_leaves"],
    "C16": ["tls_accept/old_versions_are_refused"],
    "C22": ["tls_stream/renegotiation_is_refused", "tls_connect/renegotiation_is_refused", "tls_stream/key_updates",
            "tls_resumed/early_data_is_not_heard", "tls_resumed/early_data_without_end"],
    "D5": ["policy_judge/other_resolvers_under_a_default_of_allow"],
    "D6": ["policy_judge/questions_under_a_default_of_allow"],
    "D8": ["dns/queries_that_are_refused"],
    "D19": ["dns/answers_that_are_none"],
    "E14": ["policy_compose/warnings"],
    "F1": ["terminated_requests_are_judged", "policy_judge/paths_that_servers_read_differently"],
    "F2": ["terminated_requests_are_judged"],
    "G5": ["secret_request/placeholders_that_go_elsewhere_are_found_however_they_are_written",
           "secret_request/content_that_is_encoded_keeps_its_placeholders"],
    "G7": ["secret_values/values_that_could_not_stand_in_a_field_are_refused",
           "secret_values/placeholders_that_tell_or_are_ambiguous_are_refused"],
    "F6": ["requests_c1_c3_c7_c8_c11_whose_request_it_is"],
    "G12": ["exchange_secrets/G11_strict_takes_nothing_that_it_can_not_search"],
    "G13": ["secrets_the_value_is_nowhere"],
    "G26": ["tls_wiping/nothing_secret_in_what_is_freed"],
    "G28": ["files_each_sandbox_has_its_own"],
    "H5": ["tls_authority/leaves_are_made_when_asked_for_and_kept", "tls_authority/keys"],
    "H9": ["channel_what_is_no_message_ends_it", "limits_what_the_gateway_has_given_up"],
    "I3": ["variables_what_the_caller_says_holds"],
    "I4": ["policy_document/what_holds_when_nothing_is_said"],
    "I5": ["policy_vectors/nothing_at_all"],
    "I6": ["documents_documents_that_are_none"],
    "I7": ["policy_compose/warnings"],
    "I8": ["policy_vectors/an_allow_inside_of_the_floor"],
    "I10": ["tls_authority/profile_of_a_leaf", "tls_authority/profile_of_the_authority"],
    "I11": ["tls_authority/leaves_are_made_anew_at_half_their_life"],
    "I12": ["limits_the_gateway_dies_and_nothing_leaves"],
    "I13": ["update_it_never_fills_a_disk"],
    "K3": ["policy_document/fields_that_are_wrong"],
    "K4": ["upstream_k1_it_fails_closed"],
}

# Rows that nothing can be asserted of, and why.
UNTESTED = {
    "C2": "what is said inside of TLS that passes through can't be seen, as docs/policy.md says; C1 is where TLS is terminated",
    "C19": "the gateway has no certificates of clients; a policy that asks for one is refused, and passthrough is left",
    "D14": "what the operator's resolvers say is believed; the floor is looked at all the same",
    "F5": "timing and sizes are out of scope",
    "F7": "what an allowed place learns from requests is out of scope",
    "G19": "nothing is shared: a program's connection has one of its own to the server",
    "G21": "secrets are not taken out of the answers that make them",
    "G25": "secrets are those of the start; a policy that changes them is refused (J9)",
    "I9": "sandboxes are not paused",
}

TOKEN = re.compile(r"(?<![a-z0-9])([a-k][0-9]{1,2})(?![a-z0-9])")


def rows_of(test):
    """Those that it shows."""
    named = [token.upper() for token in TOKEN.findall(test.lower().replace("_", " "))]
    return {row for row in named if row in ROWS} | {row for row, tests in BY.items() if test in tests}
