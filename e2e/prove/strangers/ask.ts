import { faultData } from "#protocol/faults/fault-data.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** Calls one procedure with a raw request, because a client would refuse some inputs. */

export interface Asked {
  status: number;
  /** Code of the fault; null for a success, and for an error without a fault. */
  code: FaultCode | null;
  bytes: number;
  text: string;
  tookMs: number;
}

const GIVE_UP_MS = 60_000;
/** Longest query string: Node limits the size of headers, which include the URL. */
const LONGEST_QUERY = 12_000;

interface Call {
  url: string;
  path: string;
  type: "query" | "mutation" | "subscription";
  headers: Readonly<Record<string, string>>;
  /** JSON text; null for no input. */
  body: string | null;
}

/** Returns the fault code in a response of the API; null when there is none. */
export function faultCodeIn(text: string): FaultCode | null {
  try {
    const parsed = JSON.parse(text) as { error?: { data?: { fault?: unknown } } };
    return faultData.safeParse(parsed.error?.data?.fault).data?.code ?? null;
  } catch {
    return null;
  }
}

/** Calls a procedure. Returns null when the input is too long to be sent. */
export async function ask({ url, path, type, headers, body }: Call): Promise<Asked | null> {
  const startedAt = performance.now();
  const signal = AbortSignal.timeout(type === "subscription" ? 500 : GIVE_UP_MS);
  const asQuery = body === null ? "" : `?input=${encodeURIComponent(body.toWellFormed())}`;
  if (type !== "mutation" && asQuery.length > LONGEST_QUERY) return null;
  try {
    const answer =
      type === "mutation"
        ? await fetch(`${url}/api/trpc/${path}`, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            ...(body !== null && { body }),
            signal,
          })
        : await fetch(`${url}/api/trpc/${path}${asQuery}`, { headers: { ...headers }, signal });
    const text = await answer.text();
    const tookMs = performance.now() - startedAt;
    return { status: answer.status, code: faultCodeIn(text), bytes: text.length, text: text.slice(0, 2_000), tookMs };
  } catch (error) {
    // Streams continue until the timeout aborts them; the hub cuts off bodies that are too long.
    const isExpected = type === "subscription" || (body?.length ?? 0) > 60_000;
    if (isExpected) return { status: 0, code: null, bytes: 0, text: "", tookMs: performance.now() - startedAt };
    throw new Error(`${path} was not answered: ${String(error)}`, { cause: error });
  }
}
