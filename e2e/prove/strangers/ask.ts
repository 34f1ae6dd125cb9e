import { faultData } from "#protocol/faults/fault-data.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** One call of a procedure as a stranger makes it, with no client in between that would refuse to. */

export interface Asked {
  status: number;
  /** Of the fault; null of an answer, and of an error that is none. */
  code: FaultCode | null;
  bytes: number;
  text: string;
  tookMs: number;
}

const GIVE_UP_MS = 60_000;
/** Node's limit of a header, in which the address stands. */
const LONGEST_QUERY = 12_000;

interface Call {
  url: string;
  path: string;
  type: "query" | "mutation" | "subscription";
  headers: Readonly<Record<string, string>>;
  /** JSON. */
  body: string | null;
}

/** Returns the fault's code in an answer of the API; null when there is none. */
export function faultCodeIn(text: string): FaultCode | null {
  try {
    const parsed = JSON.parse(text) as { error?: { data?: { fault?: unknown } } };
    return faultData.safeParse(parsed.error?.data?.fault).data?.code ?? null;
  } catch {
    return null;
  }
}

/** Asks, and returns null where the question cannot be sent at all. */
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
    // A stream goes on until nobody listens; a body that is too long is cut off while it is sent.
    const isExpected = type === "subscription" || (body?.length ?? 0) > 60_000;
    if (isExpected) return { status: 0, code: null, bytes: 0, text: "", tookMs: performance.now() - startedAt };
    throw new Error(`${path} was not answered: ${String(error)}`, { cause: error });
  }
}
