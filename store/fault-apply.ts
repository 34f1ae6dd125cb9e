/**
 * Applies the faults that fired for a request at three places: before its work, in the client's body, and in the answer.
 * Stored data stays correct unless a fault says otherwise.
 */
import { randomBytes } from "node:crypto";
import type { FiredFault } from "./fault-match.ts";
import { ConnectionCut, flipAt, interruptAt, type StallRoom } from "./fault-streams.ts";
import { paced, type Pacer } from "./pace.ts";
import { emptyReply, errorDocument, type Reply } from "./reply.ts";

/** Inputs of fault application for one request. */
export type FaultScene = {
  readonly fired: readonly FiredFault[];
  readonly stalls: StallRoom;
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal;
  readonly requestId: string;
  /** Requests in flight, including this one. */
  readonly inFlight: number;
  /** Reads the client's body to its end and discards it. */
  readonly readAll: () => Promise<void>;
  readonly loseUpload: () => void;
  /** Returns the pacer of this connection for one rule. */
  readonly pacerFor: (ruleId: string, bytesPerSecond: number) => Pacer;
  readonly presigned: "presigned" | "header";
};

function refusal(
  scene: FaultScene,
  given: { status: number; code: string; body: "xml" | "empty" | "text"; retryAfterSeconds: number | undefined },
): Reply {
  const headers: Record<string, string> =
    given.retryAfterSeconds === undefined ? {} : { "retry-after": String(given.retryAfterSeconds) };
  if (given.body === "empty") return emptyReply(given.status, { ...headers, "content-length": "0" });
  const message = given.code === "SlowDown" ? "Please reduce your request rate." : "A scripted fault.";
  const text =
    given.body === "text"
      ? `${given.code}\n`
      : errorDocument({ code: given.code, message }, { RequestId: scene.requestId });
  const contentType = given.body === "text" ? "text/plain" : "application/xml";
  const reply: Reply = {
    status: given.status,
    headers: { ...headers, "content-type": contentType },
    body: { kind: "text", text },
  };
  return given.body === "text" ? { ...reply, isForeign: true } : reply;
}

function portalPage(): Reply {
  const text = "<!DOCTYPE html><html><head><title>Sign in to the network</title></head><body>Welcome</body></html>\n";
  return { status: 200, headers: { "content-type": "text/html" }, body: { kind: "text", text }, isForeign: true };
}

function errorIn200(scene: FaultScene, code: string, ending: "none" | "newline"): Reply {
  const text = errorDocument(
    { code, message: "We encountered an internal error. Please try again." },
    { RequestId: scene.requestId },
  );
  const body = { kind: "text" as const, text: ending === "newline" ? `${text}\n` : text };
  return { status: 200, headers: { "content-type": "application/xml" }, body };
}

/** Applies faults before the work. Returns an answer that replaces the work, if any. Throws ConnectionCut. */
export async function beforeWork(scene: FaultScene): Promise<Reply | undefined> {
  for (const { action } of scene.fired) {
    switch (action.kind) {
      case "delay":
        await scene.stalls.wait("delay", action.ms, scene.gone);
        break;
      case "error":
        return refusal(scene, action);
      case "throttle":
        if (scene.inFlight > action.above) return refusal(scene, { ...action, body: "xml" });
        break;
      case "expire":
        if (scene.presigned === "header") {
          return refusal(scene, { status: 400, code: "ExpiredToken", body: "xml", retryAfterSeconds: undefined });
        }
        return refusal(scene, { status: 403, code: "AccessDenied", body: "xml", retryAfterSeconds: undefined });
      case "lose-upload":
        scene.loseUpload();
        break;
      case "reset":
        if (action.at === "start") throw new ConnectionCut();
        if (action.at === "after-request") {
          await scene.readAll();
          throw new ConnectionCut();
        }
        break;
      case "html":
        if (action.work === "skipped") return portalPage();
        break;
      case "empty":
        if (action.work === "skipped") return emptyReply(200, { "content-length": "0" });
        break;
      case "error-in-200":
        if (action.work === "skipped") return errorIn200(scene, action.code, action.ending);
        break;
      default:
        break;
    }
  }
  return undefined;
}

/** Returns the request headers without those that faults hide. */
export function shapeHeaders(scene: FaultScene, headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (!scene.fired.some(({ action }) => action.kind === "ignore-range")) return headers;
  return new Map([...headers].filter(([name]) => name !== "range"));
}

function shapeStream(
  scene: FaultScene,
  source: AsyncIterable<Buffer>,
  side: "request" | "response",
): AsyncIterable<Buffer> {
  let stream = source;
  for (const { id, action } of scene.fired) {
    if (action.kind === "reset" && action.at === side) {
      stream = interruptAt(stream, action.afterBytes, () => Promise.reject(new ConnectionCut()));
    } else if (action.kind === "stall" && action.side === side) {
      const stalled = async (): Promise<"continue"> => {
        await scene.stalls.wait(id, action.ms, scene.gone);
        return "continue";
      };
      stream = interruptAt(stream, action.afterBytes, stalled);
    } else if (action.kind === "flip" && action.side === side) {
      stream = flipAt(stream, action.offset);
    } else if (action.kind === "rate" && action.side === side) {
      stream = paced(stream, [scene.pacerFor(id, action.bytesPerSecond)]);
    } else if (action.kind === "truncate" && side === "response") {
      stream = interruptAt(stream, action.afterBytes, () => Promise.resolve("end"));
    }
  }
  return stream;
}

/** Returns the client's body with faults applied. */
export function shapeRequest(scene: FaultScene, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return shapeStream(scene, body, "request");
}

/** Returns the store's body with faults applied. */
export function shapeResponse(scene: FaultScene, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return shapeStream(scene, body, "response");
}

/** Returns how the answer ends: by its length, by closing, or by closing before the announced length. */
export function framingOf(scene: FaultScene): "length" | "close" | "short" {
  for (const { action } of scene.fired) {
    if (action.kind === "truncate") return action.framing === "close" ? "close" : "short";
  }
  return "length";
}

function shiftContentRange(header: string | undefined, shiftBytes: number): string | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header ?? "");
  if (match === null) return header;
  return `bytes ${Number(match[1]) + shiftBytes}-${Number(match[2]) + shiftBytes}/${match[3]}`;
}

function closeBody(reply: Reply): void {
  if (reply.body.kind === "stream") reply.body.close();
}

/** Applies faults after the work and returns the answer to send. Throws ConnectionCut. */
export function changeReply(scene: FaultScene, reply: Reply): Reply {
  let changed = reply;
  const replace = (other: Reply): void => {
    closeBody(changed);
    changed = other;
  };
  for (const { action } of scene.fired) {
    if (action.kind === "drop-response") {
      closeBody(changed);
      throw new ConnectionCut();
    }
    if (action.kind === "html" && action.work === "done") replace(portalPage());
    if (action.kind === "empty" && action.work === "done") replace(emptyReply(200, { "content-length": "0" }));
    if (action.kind === "error-in-200" && action.work === "done")
      replace(errorIn200(scene, action.code, action.ending));
    if (action.kind === "no-etag") {
      const { etag: _, ...headers } = changed.headers;
      changed = { ...changed, headers };
    }
    if (action.kind === "wrong-content-range") {
      const range = shiftContentRange(changed.headers["content-range"], action.shiftBytes);
      if (range !== undefined) changed = { ...changed, headers: { ...changed.headers, "content-range": range } };
    }
  }
  return changed;
}

/** Returns the shift of the answer's Date header, and whether the header is sent. */
export function dateShift(scene: FaultScene): { readonly shiftMs: number; readonly header: "show" | "hide" } {
  for (const { action } of scene.fired) if (action.kind === "date") return action;
  return { shiftMs: 0, header: "show" };
}

/** Returns a new request id of 16 hex characters. */
export function newRequestId(): string {
  return randomBytes(8).toString("hex").toUpperCase();
}
