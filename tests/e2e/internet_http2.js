// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 for internet.py: node internet_http2.js FOLDER ADDRESS PORT.
"use strict";
const fs = require("fs");
const http2 = require("http2");

const [folder, address, port] = process.argv.slice(2);
const server = http2.createSecureServer({
  key: fs.readFileSync(`${folder}/key.pem`),
  cert: fs.readFileSync(`${folder}/good.pem`),
});
server.on("stream", (stream, headers, flags, raw) => {
  stream.on("error", () => {});
  const path = headers[":path"];
  if (path === "/big") {
    stream.respond({ ":status": 200 });
    stream.end(Buffer.alloc(8 << 20, "b"));
  } else if (path === "/endless") {
    const piece = Buffer.alloc(65536, "e");
    const more = () => { while (stream.write(piece)); };
    stream.respond({ ":status": 200 });
    stream.on("drain", more);
    more();
  } else if (path === "/both-ways") {
    // As gRPC streams: each piece is answered as it comes, and the end has a trailer.
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.on("data", (piece) => stream.write(piece.toString().toUpperCase()));
    stream.on("end", () => stream.end());
  } else if (path === "/reset") {
    stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
  } else {
    let size = 0;
    stream.on("data", (piece) => { size += piece.length; });
    stream.on("end", () => {
      stream.respond({ ":status": 200, "x-version": "2" });
      stream.end(JSON.stringify({ raw, size }));
    });
  }
});
server.on("sessionError", () => {});
server.listen(Number(port), address, () => console.log("ready"));
