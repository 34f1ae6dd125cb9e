import { z } from "zod";
import type { Direction } from "../cases.ts";

/** Evaluates one run as the far end saw it: when the first byte of payload came, and after which requests. */

const REQUESTS = ["create", "part", "put", "head", "get", "list", "other"] as const;
export type RequestKind = (typeof REQUESTS)[number];

/** `atMs`: by the monotonic clock of the machine, which all namespaces share. */
export const farEvent = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  /** All earlier events have been reported. */
  z.object({ kind: z.literal("mark") }),
  z.object({ kind: z.literal("lookup"), atMs: z.number() }),
  z.object({ kind: z.literal("connected"), atMs: z.number() }),
  z.object({ kind: z.literal("encrypted"), atMs: z.number() }),
  z.object({ kind: z.literal("request"), atMs: z.number(), request: z.enum(REQUESTS) }),
  /** The first byte of a body: of a PUT that came in, or of the answer to a GET of an object. */
  z.object({ kind: z.literal("payload"), atMs: z.number(), direction: z.enum(["up", "down"]) }),
]);
export type FarEvent = z.infer<typeof farEvent>;

/** Names a request by its method and its target (`/bucket/key?query`). */
export function kindOf(method: string, target: string): RequestKind {
  const url = new URL(target, "http://store");
  const { searchParams: query } = url;
  const hasKey = /^\/[^/]+\/./.test(url.pathname);
  if (method === "POST" && query.has("uploads")) return "create";
  if (method === "PUT" && query.has("partNumber")) return "part";
  if (method === "PUT" && hasKey) return "put";
  if (method === "HEAD") return "head";
  if (method !== "GET") return "other";
  if (hasKey && !query.has("uploadId")) return "get";
  return query.has("list-type") || query.has("prefix") ? "list" : "other";
}

export interface FirstByte {
  /** From the start of the process until its first packet leaves, ms. */
  firstPacketMs: number;
  /** Until the first byte of payload leaves (up) or arrives (down), ms. */
  firstByteMs: number;
  /** Lookups, connections and requests before the payload, in order; equal ones are named once. */
  before: string[];
}

const NAMES: Partial<Record<FarEvent["kind"], string>> = { lookup: "DNS", connected: "TCP", encrypted: "TLS" };

/**
 * Evaluates a run that began at `startedMs`. The far end sees a packet half a round trip after it left; its own packets arrive
 * half a round trip later. Null where no payload was seen.
 */
export function firstByteOf(
  events: readonly FarEvent[],
  about: { startedMs: number; rttMs: number; direction: Direction },
): FirstByte | null {
  const { startedMs, rttMs, direction } = about;
  const half = rttMs / 2;
  // A byte that was sent before the start belongs to the previous tool.
  const timed = events
    .flatMap((event) => ("atMs" in event && event.atMs - half >= startedMs ? [event] : []))
    .toSorted((a, b) => a.atMs - b.atMs);
  const at = timed.findIndex((event) => event.kind === "payload" && event.direction === direction);
  const [first, payload] = [timed[0], timed[at]];
  if (first === undefined || payload === undefined) return null;
  const names = timed
    .slice(0, at)
    .map((event) => (event.kind === "request" ? event.request.toUpperCase() : (NAMES[event.kind] ?? "")));
  const carrier = direction === "up" ? ["PUT", "PART"] : ["GET"];
  const before = [...new Set(names)].filter((name) => name !== "" && !carrier.includes(name));
  return {
    firstPacketMs: first.atMs - half - startedMs,
    firstByteMs: payload.atMs + (direction === "up" ? -half : half) - startedMs,
    before,
  };
}
