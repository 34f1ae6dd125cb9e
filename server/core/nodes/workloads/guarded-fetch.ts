import { Fault } from "#protocol/faults/fault.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import { lookupFor, refuseEndpoint, type Reach } from "#server/platform/reach.ts";

const MOST_BYTES = 64 * 1024;
const ANSWER_MS = 5_000;

/**
 * Fetches a small document from an address that the hub's operator configured: by GET, without redirects, at most 64 KiB. The
 * very DNS lookup that connects checks the address, so only permitted addresses are reached. @throws Fault WORKLOAD_KEYS_AWAY
 */
export async function guardedFetch(
  url: string,
  { signal, reach }: { signal: AbortSignal; reach: Reach },
): Promise<Response> {
  const failed = (detail: string, cause?: unknown): Fault =>
    new Fault("WORKLOAD_KEYS_AWAY", { op: "fetch keys", subject: url, detail, cause });
  try {
    await refuseEndpoint(url, reach);
  } catch (cause) {
    throw failed("the address is not allowed", cause);
  }
  const fetch = createAgentFetch({ lookup: lookupFor(url, reach), answerMs: ANSWER_MS, mostAnswerBytes: MOST_BYTES });
  const answer = await fetch(url, { signal, headers: { accept: "application/json" } }).catch((cause: unknown) => {
    throw failed("no answer that could be read", cause);
  });
  if (answer.status !== 200) throw failed(`HTTP ${answer.status}`);
  return answer;
}
