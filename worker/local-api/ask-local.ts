import { request } from "node:http";
import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import { Fault, faultFrom } from "#protocol/faults/fault.ts";
import { codeOf } from "../base/disk-fault.ts";
import { findSocket } from "./socket-path.ts";

const refusal = z.object({ fault: faultData });

/**
 * Sends one request to the worker of a state folder, and waits without a timeout.
 * @throws Fault NO_WORKER when no worker listens there, Faults of the request, CANCELLED
 */
export async function askLocal<T>(
  state: string,
  about: { asked: `${"GET" | "POST"} /${string}`; body?: unknown; answer: z.ZodType<T>; signal: AbortSignal },
): Promise<T> {
  const [method = "GET", path = "/"] = about.asked.split(" ");
  const text = await exchange(await findSocket(state), { method, path, body: about.body, signal: about.signal });
  const value: unknown = text === "" ? null : JSON.parse(text);
  const refused = refusal.safeParse(value);
  if (refused.success) throw faultFrom(refused.data.fault);
  return about.answer.parse(value);
}

function exchange(
  socketPath: string,
  about: { method: string; path: string; body: unknown; signal: AbortSignal },
): Promise<string> {
  const { method, path, body, signal } = about;
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      if (signal.aborted) reject(new Fault("CANCELLED", { op: "local" }));
      else if (NOBODY.has(codeOf(error) ?? "")) reject(new Fault("NO_WORKER", { op: "local", subject: socketPath }));
      else
        reject(
          new Fault("NO_WORKER", {
            op: "local",
            subject: socketPath,
            detail: "it left before it answered",
            cause: error,
          }),
        );
    };
    const asking = request({ socketPath, method, path, headers, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
      response.on("error", fail);
    });
    asking.on("error", fail);
    asking.end(text);
  });
}

/** Error codes that mean no socket, no listener, or a path that is too long for a socket. */
const NOBODY: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK", "EINVAL", "ENAMETOOLONG"]);
