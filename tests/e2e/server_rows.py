# SPDX-License-Identifier: Apache-2.0
"""What a server that E2B's SDKs speak to must do: a row of the suite "server" for each. B1 to B32 are what breaks servers that
were written anew, T1 to T40 what SDKs see most of, the first first.

BY has the tests of each row: as end-to-end tests are printed, or PROGRAM/CASE of tests/sdk, which the SDKs themselves run. A row
without a test is a failure, but for those of UNTESTED; so is a test that is not there, or one whose name is given twice.
"""
import os
import re

from cases import ROOT

# Programs of tests/sdk, and the end-to-end test that runs them.
PROGRAMS = {"lifecycle": "server_sdk_test.py", "commands": "server_sdk_test.py", "files": "server_sdk_test.py",
            "errors": "server_sdk_test.py", "hosts": "server_sdk_test.py", "code": "server_code_test.py"}

ROWS = {
    # What breaks servers.
    "B1": "bodies in chunks, without a length, and requests without a body", "B2": "errors are JSON, and their code is a number",
    "B3": "exactly the status that is expected, and no body behind 204", "B4": "routes of several versions",
    "B5": "no timeout and no word of security in a request", "B6": "errors of streams are in their last frame",
    "B7": "streams have a last frame, and each message comes at once", "B8": "errors of calls have a word as code",
    "B9": "a sandbox that is killed has its streams cut", "B10": "a version of envd with all that there is",
    "B11": "programs are of a user, and of which", "B12": "paths that are not absolute, and folders that are made for them",
    "B13": "signed addresses", "B14": "a token opens one sandbox", "B15": "filters encoded several times, pages, IDs encoded in paths",
    "B16": "an end that stays where it is", "B17": "standard input is open when nothing was said of it",
    "B18": "process IDs, zombies, signals, output before the end", "B19": "silence is broken",
    "B20": "a deadline kills a program, and a client that goes does not", "B21": "forms with paths as names of files, and large ones",
    "B22": "uploads that are packed", "B23": "builds that are asked after do not keep a client waiting",
    "B24": "hundreds of connections that are kept, for long", "B25": "Expect, HEAD and OPTIONS",
    "B26": "cells' events come as they happen, and always with what is expected", "B27": "ports by host name on the same listener",
    "B28": "clients that send a token and nothing else", "B29": "two things called /health", "B30": "fields that must be there",
    "B31": "capital letters in names of fields, and exact names in JSON", "B32": "null, and what is not there",
    # What SDKs see most of.
    "T1": "bodies in chunks, and connections that are kept", "T2": "sandboxes are made by either route",
    "T3": "where a request is for", "T4": "framing of streams", "T5": "a program's start, output, end",
    "T6": "calls, their answers and errors", "T7": "errors of streams", "T8": "errors of the control plane", "T9": "statuses",
    "T10": "a sandbox is killed, once", "T11": "/health of a sandbox that lives, and of one that does not", "T12": "the version of envd",
    "T13": "users and their folders", "T14": "files up and down", "T15": "paths", "T16": "tokens of sandboxes", "T17": "signatures",
    "T18": "connecting", "T19": "time that is up", "T20": "lists", "T21": "what is said of a sandbox", "T22": "killing cuts streams",
    "T23": "errors of file calls", "T24": "entries of folders", "T25": "standard input", "T26": "signals", "T27": "deadlines",
    "T28": "messages that keep a stream alive", "T29": "terminals", "T30": "programs that run already", "T31": "variables",
    "T32": "pausing and resuming", "T33": "watching", "T34": "metrics", "T35": "the network fields", "T36": "cells of code",
    "T37": "ports of programs", "T38": "snapshots and forks", "T39": "templates and builds",
    "T40": "words beside files, packed uploads, other origins, volumes and secrets",
}

BY = {
    "B1": ["frames_bodies_in_chunks_and_a_connection_that_is_kept", "frames_a_stream_in_pieces_and_laid_out_to_be_read",
           "uploads_packed_and_in_chunks", "shapes_connect_needs_no_body", "lifecycle/a_first_program"],
    "B2": ["statuses_of_what_is_not", "statuses_of_one_that_is_gone", "http_what_is_no_http", "control_refuses_bad_bodies"],
    "B3": ["statuses_of_what_is_done", "answers_are_as_described"],
    "B4": ["statuses_of_what_is_done", "control_old_route_of_create", "control_connect_only_extends",
           "lifetimes_connecting_is_answered_with_the_same_handle"],
    "B5": ["lifetimes_when_none_was_given", "access_another_sandbox_s_token", "lists_what_this_machine_does_not_need_is_not_asked_for"],
    "B6": ["messages_streams_that_begin_with_none", "messages_a_folder_that_is_none", "ends_of_what_cannot_begin",
           "frames_of_what_is_asked_with_credentials_that_are_wrong"],
    "B7": ["frames_a_stream_in_pieces_and_laid_out_to_be_read", "ends_come_last_and_starts_first", "ends_are_told_while_it_still_runs"],
    "B8": ["shapes_of_a_call", "errors_of_calls"],
    "B9": ["ends_of_a_sandbox_reset_its_streams", "control_its_time_is_kept", "commands/killed_under_way"],
    "B10": ["lists_what_this_machine_does_not_need_is_not_asked_for", "shapes_of_a_sandbox"],
    "B11": ["users_of_programs", "users_of_files", "commands/where_and_as_whom", "files/as_another_user"],
    "B12": ["paths_lead_to_the_same_by_both_ways", "paths_have_their_folders_made_for_their_user"],
    "B13": ["signatures_open_what_was_signed", "signatures_open_nothing_else", "files/addresses_without_a_key"],
    "B14": ["access_another_sandbox_s_token", "signatures_open_nothing_else", "signatures_what_needs_none"],
    "B15": ["lists_have_an_order_filters_and_pages", "control_pages", "shapes_names_in_a_path_are_decoded_behind_its_parts",
            "lifecycle/found_by_what_it_was_given", "lifecycle/pages_end_with_the_last_one"],
    "B16": ["control_connect_only_extends", "lifetimes_a_refresh_only_extends", "lifecycle/connecting_does_not_shorten"],
    "B17": ["input_is_open_when_nothing_was_said", "input_is_none_when_that_was_said", "commands/not_fed"],
    "B18": ["signals_reach_the_one_that_is_named", "ends_say_how", "ends_come_last_and_starts_first", "commands/listed_and_killed"],
    "B19": ["silence_is_broken_as_often_as_wished", "cells_signs_of_life"],
    "B20": ["deadlines_of_a_program_kills_it", "connected_leave_it_running_when_they_go", "commands/time_that_is_up"],
    "B21": ["uploads_of_forms", "bodies_are_not_collected", "files/many_at_once"],
    "B22": ["uploads_packed_and_in_chunks", "bodies_are_not_collected", "files/packed_on_the_way"],
    "B23": ["builds_are_refused_before_anybody_waits", "errors/templates"],
    "B24": ["frames_hundreds_of_connections_that_are_kept", "crowd_of_idle_ones"],
    "B25": ["frames_who_asks_whether_to_go_on", "slow_the_head_of_a_file", "shapes_pages_of_other_origins_may_read",
            "signatures_what_needs_none"],
    "B26": ["cells_output_comes_as_it_is_printed", "cells_forms_of_results", "refusals_contexts_need_what_ports_need",
            "code/output_results_and_errors_as_they_come", "code/contexts"],
    "B27": ["ways_by_host_by_fields_by_path", "ways_which_of_them", "secure_what_the_program_is_told", "hosts/a_page",
            "hosts/nobody_there"],
    "B28": ["access_a_token_alone_says_whose_port_is_meant"],
    "B29": ["access_a_token_alone_says_whose_port_is_meant", "ways_by_host_by_fields_by_path"],
    "B30": ["lists_have_all_that_is_needed_to_show_them", "answers_are_as_described", "lifecycle/info_of_one"],
    "B31": ["access_fields_are_known_in_any_case", "lists_what_this_machine_does_not_need_is_not_asked_for"],
    "B32": ["lists_have_all_that_is_needed_to_show_them", "shapes_of_a_sandbox"],
    "T1": ["frames_bodies_in_chunks_and_a_connection_that_is_kept", "frames_requests_that_come_in_pieces_and_together"],
    "T2": ["statuses_of_what_is_done", "lists_what_this_machine_does_not_need_is_not_asked_for", "lifecycle/a_first_program"],
    "T3": ["ways_by_host_by_fields_by_path", "access_a_token_alone_says_whose_port_is_meant", "signatures_open_what_was_signed",
           "asked_for_the_control_plane_with_a_sandbox_named_in_fields"],
    "T4": ["frames_a_stream_in_pieces_and_laid_out_to_be_read", "ends_are_told_while_it_still_runs"],
    "T5": ["ends_come_last_and_starts_first", "ends_say_how", "commands/output_and_status", "commands/failure"],
    "T6": ["shapes_of_a_call", "messages_calls_that_are_none", "errors_of_calls"],
    "T7": ["messages_streams_that_begin_with_none", "ends_of_what_cannot_begin"],
    "T8": ["statuses_of_what_is_not", "errors/a_template_that_is_none", "errors/wishes_that_are_none"],
    "T9": ["statuses_of_what_is_done", "answers_are_as_described"],
    "T10": ["statuses_of_one_that_is_gone", "control_life", "lifecycle/killed_once", "lifecycle/one_that_never_was"],
    "T11": ["control_its_time_is_kept", "lifetimes_it_is_kept_also_when_it_was_shortened", "lifecycle/killed_once"],
    "T12": ["lists_what_this_machine_does_not_need_is_not_asked_for"],
    "T13": ["users_of_programs", "users_of_files", "commands/where_and_as_whom"],
    "T14": ["uploads_of_forms", "uploads_packed_and_in_chunks", "paths_have_their_folders_made_for_their_user", "errors_of_contents",
            "files/written_and_read", "files/bytes_and_streams"],
    "T15": ["paths_lead_to_the_same_by_both_ways"],
    "T16": ["access_another_sandbox_s_token", "signatures_what_needs_none"],
    "T17": ["signatures_open_what_was_signed", "signatures_open_nothing_else", "signatures_are_for_whom_they_were_made"],
    "T18": ["control_connect_only_extends", "shapes_connect_needs_no_body", "lifetimes_connecting_is_answered_with_the_same_handle",
            "lifecycle/connected_to_from_elsewhere"],
    "T19": ["lifetimes_when_none_was_given", "lifetimes_it_is_kept_also_when_it_was_shortened", "lifetimes_one_that_was_short_is_lengthened",
            "lifecycle/time_that_is_up"],
    "T20": ["lists_have_an_order_filters_and_pages", "lifecycle/found_by_what_it_was_given"],
    "T21": ["lists_have_all_that_is_needed_to_show_them", "shapes_of_a_sandbox", "lifecycle/info_of_one"],
    "T22": ["ends_of_a_sandbox_reset_its_streams", "commands/killed_under_way"],
    "T23": ["errors_of_calls", "messages_a_folder_that_is_none", "files/made_moved_removed"],
    "T24": ["entries_say_what_there_is", "entries_are_listed_in_order_and_as_deep_as_wished", "files/listed"],
    "T25": ["input_is_open_when_nothing_was_said", "input_is_none_when_that_was_said", "input_waits_for_a_program_that_does_not_read",
            "commands/fed", "commands/input_that_ends"],
    "T26": ["signals_reach_the_one_that_is_named", "signals_that_are_none", "commands/listed_and_killed"],
    "T27": ["deadlines_of_a_program_kills_it", "deadlines_of_a_connection_to_a_program", "deadlines_of_a_watch",
            "connected_leave_it_running_when_they_go", "commands/time_that_is_up"],
    "T28": ["silence_is_broken_as_often_as_wished"],
    "T29": ["terminals_are_their_programs_own", "terminals_interrupt_what_is_in_front", "commands/a_terminal"],
    "T30": ["connected_are_told_from_then_on", "connected_leave_it_running_when_they_go", "commands/connected_to_from_elsewhere"],
    "T31": ["variables_are_put_over_each_other", "commands/variables"],
    "T32": ["control_what_is_not_offered_says_so", "errors/pausing", "errors/pausing_when_time_is_up"],
    "T33": ["watched_is_what_happens_also_further_down", "watchers_tell_what_an_entry_is", "files/watched", "files/watched_with_what_is_below"],
    "T34": ["control_metrics", "asked_for_metrics_with_milliseconds", "lifecycle/measured"],
    "T35": ["network_names_and_addresses", "network_it_changes_under_way", "network_what_is_wrong_changes_nothing", "allowed_the_default",
            "control_refuses_bad_bodies", "lifecycle/network_that_was_wished"],
    "T36": ["cells_state_results_and_their_order", "contexts_are_made_listed_and_removed", "languages_javascript", "languages_bash",
            "cells_a_client_that_leaves_interrupts_its_cell", "code/a_first_program", "code/languages"],
    "T37": ["ways_by_host_by_fields_by_path", "ways_nobody_there", "tunnels_a_websocket", "private_by_default", "fields_a_host_of_its_own",
            "hosts/for_those_with_a_token", "hosts/by_another_name"],
    "T38": ["control_what_is_not_offered_says_so", "shapes_names_in_a_path_are_decoded_behind_its_parts", "errors/snapshots_and_forks"],
    "T39": ["builds_are_refused_before_anybody_waits", "errors/templates", "errors/names_and_tags_of_templates"],
    "T40": ["words_are_kept_replaced_and_cleared", "words_that_are_none", "uploads_packed_and_in_chunks",
            "shapes_pages_of_other_origins_may_read", "control_what_is_not_offered_says_so", "files/with_words_beside",
            "errors/volumes_and_secrets"],
}

# Rows that nothing can be asserted of, and why.
UNTESTED = {}


def rows_of(test):
    """Those that it shows."""
    return {row for row, tests in BY.items() if test in tests}


def sdk_cases(program):
    """Names of the cases of one of PROGRAMS, in either language."""
    names = set()
    for kind, pattern in (("py", r"^async def (\w+)\(\):"), ("mjs", r"^test\('(\w+)'")):
        with open(os.path.join(ROOT, f"tests/sdk/{program}.{kind}"), encoding="utf-8") as f:
            names.update(re.findall(pattern, f.read(), re.M))
    return names


def tests_with(name, case):
    """Words for the end-to-end test `name` that run PROGRAM/CASE; none when it does not."""
    program = case.partition("/")[0]
    if PROGRAMS.get(program) != name:
        return []
    return [f"_{program}"] if name == "server_sdk_test.py" else ["python", "node"]


def cases_shown(name, said):
    """{PROGRAM/CASE: (verdict, reason)}: each case of a program has what came of the tests that run it, the worst first."""
    shown = {}
    for program in (p for p, test in PROGRAMS.items() if test == name):
        words = tests_with(name, program)
        verdicts = [verdict for test, verdict in said.items() if any(word in test for word in words)]
        for case in sdk_cases(program) if verdicts else ():
            shown[f"{program}/{case}"] = min(verdicts, key=lambda v: ("FAIL", "ok", "skip").index(v[0]))
    return shown
