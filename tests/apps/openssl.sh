#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# openssl: speed with two processes, digests, ciphers, keys, and a TLS connection over loopback.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"
openssl speed -seconds 1 -bytes 1024 sha256 > speed 2>&1 || fail "speed: $(tail -1 speed)"
grep -q '^sha256 *[0-9.]*k' speed || fail "speed says: $(tail -1 speed)"
openssl speed -seconds 1 -multi 2 -bytes 1024 -evp aes-128-gcm > speed 2>&1 || fail "speed -multi: $(tail -1 speed)"
grep -qi '^aes-128-gcm *[0-9.]*k' speed || fail "speed -multi says: $(tail -1 speed)"
is digest "$(printf abc | openssl dgst -sha256 -r | cut -c1-8)" ba7816bf
seq 100000 > plain
openssl enc -aes-256-cbc -pbkdf2 -k secret -in plain -out cipher && openssl enc -d -aes-256-cbc -pbkdf2 -k secret -in cipher | cmp - plain || fail cipher
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 3 -subj /CN=localhost 2> /dev/null || fail "key"
is verify "$(openssl verify -CAfile cert.pem cert.pem)" "cert.pem: OK"
openssl s_server -quiet -accept 127.0.0.1:18443 -key key.pem -cert cert.pem -www > server 2>&1 & server=$!
for i in $(seq 50); do
    sleep 0.1
    (printf 'GET / HTTP/1.0\r\n\r\n'; sleep 1) | timeout 20 openssl s_client -quiet -connect 127.0.0.1:18443 -CAfile cert.pem > page 2> client && break
done
kill $server; wait $server 2> /dev/null
grep -q 'HTTP/1.0 200' page || fail "s_client: $(tail -1 client)"
is random "$(openssl rand -hex 16 | wc -c)" 33
echo ok
