import { Agent, request } from "node:http";
import * as z from "zod";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Client of SaladCloud's instance metadata service, which has a link-local address. Requests never go through a proxy,
 * because a proxy would reach the metadata service of its own machine.
 */
export interface Imds {
  /** Returns null when nothing answers there as SaladCloud does. Never throws. */
  status(): Promise<Status | null>;
  /** Returns a JWT in which the platform attests the container's identity, valid for minutes. @throws Fault PLATFORM_FAILED */
  identity(): Promise<string>;
  /** Asks to be moved to another machine; the platform avoids this one for two days. @throws Fault PLATFORM_FAILED */
  reallocate(reason: string): Promise<void>;
  /** Sets the deletion cost: the platform removes containers with a high cost last. @throws Fault PLATFORM_FAILED */
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

/** Creates a client. `base` replaces the well-known address, in tests only. */
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
      const parsed = identity.safeParse(parseJsonOrNull(await ask("GET", "/v1/token")));
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
    // A separate agent, because the global one may be set to use a proxy.
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
