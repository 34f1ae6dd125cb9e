import { Agent, request } from "node:http";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * The metadata service of SaladCloud, which every container finds at an address of the link itself. It is asked directly
 * and never through a proxy: what a proxy finds at that address is another machine's.
 */
export interface Imds {
  /** Null when nobody answers there as SaladCloud does. No faults. */
  status(): Promise<Status | null>;
  /** Who this container is, by the word of the platform: a JWT that is good for minutes. Faults: PLATFORM_FAILED. */
  identity(): Promise<string>;
  /** Asks for another machine; this one is left out for two days. Faults: PLATFORM_FAILED. */
  reallocate(reason: string): Promise<void>;
  /** The higher, the later this container is chosen when some have to go. Faults: PLATFORM_FAILED. */
  setDeletionCost(cost: number): Promise<void>;
}

const IMDS_URL = "http://169.254.169.254";
const ANSWER_MS = 2_000;
const MOST_ANSWER_BYTES = 64 * 1024;
const MOST_REASON = 1_000;
const MOST_COST = 2_147_483_647;

const status = z.object({ ready: z.boolean(), started: z.boolean() });
const identity = z.object({ jwt: z.string().min(16).max(4096) });
type Status = z.infer<typeof status>;

/** `base` is another address in tests only. */
export function createImds(base: string | null): Imds {
  const ask = (method: "GET" | "POST" | "PUT", path: string, body?: Record<string, unknown>) =>
    askOnce(`${base ?? IMDS_URL}${path}`, { method, body: body === undefined ? null : JSON.stringify(body) });
  return {
    status: async () => {
      try {
        return status.parse(JSON.parse(await ask("GET", "/v1/status")));
      } catch {
        return null;
      }
    },
    identity: async () => {
      const parsed = identity.safeParse(parseJson(await ask("GET", "/v1/token")));
      if (parsed.success) return parsed.data.jwt;
      throw new Fault("PLATFORM_FAILED", {
        op: "GET",
        subject: "/v1/token",
        detail: "there is no token in its answer",
      });
    },
    reallocate: async (reason) => void (await ask("POST", "/v1/reallocate", { reason: reason.slice(0, MOST_REASON) })),
    setDeletionCost: async (cost) => {
      const whole = Math.round(Math.min(MOST_COST, Math.max(0, cost)));
      await ask("PUT", "/v1/deletion-cost", { deletion_cost: whole });
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function askOnce(url: string, asked: { method: string; body: string | null }): Promise<string> {
  const { method, body } = asked;
  const { pathname } = new URL(url);
  const failed = (detail: string, cause?: unknown) =>
    new Fault("PLATFORM_FAILED", { op: method, subject: pathname, detail, cause });
  return new Promise((resolve, reject) => {
    const headers = {
      Metadata: "true",
      ...(body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    // An agent of its own: the one that all share may have been told of a proxy.
    const agent = new Agent({ keepAlive: false });
    const signal = AbortSignal.timeout(ANSWER_MS);
    const sent = request(url, { method, headers, agent, signal }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_ANSWER_BYTES) answer.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      answer.on("error", (error) => reject(failed(error.message, error)));
      answer.on("end", () => {
        const { statusCode = 0 } = answer;
        if (statusCode < 200 || statusCode > 299) reject(failed(`HTTP ${statusCode}`));
        else resolve(Buffer.concat(chunks).toString("utf8"));
      });
    });
    sent.on("error", (error) => {
      reject(failed(signal.aborted ? `no answer within ${ANSWER_MS / 1_000} s` : error.message, error));
    });
    sent.end(body ?? undefined);
  });
}
