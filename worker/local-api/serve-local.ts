import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmod, chown, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { NEW_FILE } from "../host/state-file.ts";
import { placeSocket, socketOf } from "./socket-path.ts";

/**
 * HTTP server for programs on this machine: a unix socket, protected by file permissions, and, when a
 * port is given, a loopback port for clients with the bearer token in `local.token`. Web pages are kept out: a request with
 * an `Origin`, or on the port for another host name (DNS rebinding), is refused.
 */
export interface LocalRequest {
  method: string;
  path: string;
  body: string;
  /** Fires when the client disconnects or the worker ends. */
  signal: AbortSignal;
}

export interface LocalAnswer {
  status: number;
  type: string;
  text: string;
}

/** Folder for a program that runs as another user: the program may enter the folder and owns its socket there. */
export interface ProgramPlace {
  folder: string;
  uid: number;
  gid: number;
}

export interface LocalListener {
  /** Null where its path would be too long, and no short private folder can be had. */
  socket: string | null;
  /** Symbolic link in the state folder to a socket elsewhere. */
  link: string | null;
  /** Socket for a program that runs as another user. */
  programSocket: string | null;
  url: string | null;
  tokenFile: string | null;
  close(): Promise<void>;
}

export interface LocalParts {
  /** State folder. */
  state: string;
  program?: ProgramPlace | null;
  /** 0: any free port; null: unix socket only. */
  port: number | null;
  answer(request: LocalRequest): Promise<LocalAnswer>;
  signal: AbortSignal;
  /** Folders in which a short private one is looked for; the system's when left out. */
  temporaries?: readonly string[];
}

const MOST_BODY_BYTES = 64 * 1024;

/** Starts the servers. @throws Fault PORT_IN_USE, FOLDER_UNWRITABLE */
export async function serveLocal(parts: LocalParts): Promise<LocalListener> {
  const { state, port, program = null } = parts;
  const servers: Server[] = [];
  const listener: LocalListener = {
    socket: null,
    link: null,
    programSocket: null,
    url: null,
    tokenFile: null,
    close: async () => {
      await Promise.all(servers.map(close));
      for (const path of [listener.link, listener.socket, listener.programSocket, listener.tokenFile])
        if (path !== null) await removeOwned("state-file", path);
    },
  };
  const usual = socketOf(state);
  const socket = placeSocket(state, parts.temporaries);
  // This process holds the folder's lock, so an existing socket or link is a dead worker's.
  for (const path of new Set([usual, socket ?? usual])) await removeOwned("state-file", path);
  if (socket !== null) {
    servers.push(await listen(parts, { path: socket, token: null }));
    await chmod(socket, 0o600);
    listener.socket = socket;
    if (socket !== usual) {
      await symlink(socket, usual);
      listener.link = usual;
    }
  }
  if (program !== null) {
    const path = socketOf(program.folder);
    await removeOwned("state-file", path);
    servers.push(await listen(parts, { path, token: null }));
    await chmod(path, 0o600);
    await chown(path, program.uid, program.gid);
    listener.programSocket = path;
  }
  const tokenFile = join(state, "local.token");
  // Remove the useless token of a killed worker, even if this worker opens no port.
  await removeOwned("state-file", tokenFile);
  if (port !== null) {
    const token = randomBytes(32).toString("base64url");
    listener.tokenFile = tokenFile;
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600, flag: NEW_FILE });
    const server = await listen(parts, { port, token });
    servers.push(server);
    const address = server.address();
    listener.url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`;
  }
  return listener;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

type Place = { path: string; token: null } | { port: number; token: string };

function listen(parts: LocalParts, place: Place): Promise<Server> {
  const server = createServer((request, response) => void serve(parts, place, { request, response }));
  // No timeout: a client may wait until a checkpoint is safe.
  server.requestTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const isTaken = "code" in error && error.code === "EADDRINUSE";
      const subject = "path" in place ? place.path : `127.0.0.1:${place.port}`;
      reject(new Fault(isTaken ? "PORT_IN_USE" : "FOLDER_UNWRITABLE", { op: "local", subject, cause: error }));
    });
    if ("path" in place) server.listen(place.path, () => resolve(server));
    else server.listen(place.port, "127.0.0.1", () => resolve(server));
  });
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function serve(parts: LocalParts, place: Place, { request, response }: Exchange): Promise<void> {
  const left = new AbortController();
  response.on("close", () => left.abort(new Fault("CANCELLED")));
  const signal = AbortSignal.any([parts.signal, left.signal]);
  const send = ({ status, type, text }: LocalAnswer) => {
    if (response.headersSent || response.destroyed) return;
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
    response.end(text);
  };
  try {
    refuseStrangers(request, place);
    const body = await readBody(request);
    const { pathname } = new URL(request.url ?? "/", "http://worker");
    send(await parts.answer({ method: request.method ?? "GET", path: pathname, body, signal }));
  } catch (error) {
    const fault = toFault(error, { op: "local" });
    const data = fault.toData();
    const text = JSON.stringify({ fault: { ...data, sentence: sentenceOf(data) } });
    send({ status: FAULTS[fault.code].http, type: "application/json", text });
  }
}

function refuseStrangers(request: IncomingMessage, place: Place): void {
  if (request.headers.origin !== undefined) {
    throw new Fault("NOT_ADMITTED", { op: "local", detail: "pages of a browser may not ask" });
  }
  if (place.token === null) return;
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  const given = request.headers.authorization?.replace(/^Bearer /i, "") ?? "";
  const isMeant = host === "127.0.0.1" || host === "localhost";
  if (!isMeant || !isSame(given, place.token)) {
    throw new Fault("NOT_ADMITTED", { op: "local", detail: "the token is missing or wrong" });
  }
}

const isSame = (given: string, wanted: string): boolean => timingSafeEqual(digest(given), digest(wanted));
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES)
      throw new Fault("TOO_LARGE", { op: "local", detail: `more than ${MOST_BODY_BYTES} bytes` });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
