import { Fault } from "#protocol/fault.ts";
import { refuseEndpoint } from "../profiles/refuse-endpoint.ts";

const MOST_BYTES = 64 * 1024;

/**
 * Fetches a small document from an address that the hub's operator configured: by GET, no redirect followed, never at a
 * metadata address nor, unless that is allowed, a private one, and not more than 64 KiB of it.
 * @throws Fault WORKLOAD_KEYS_AWAY
 */
export async function guardedFetch(
  url: string,
  options: { signal: AbortSignal; allowPrivate: boolean },
): Promise<Response> {
  const failed = (detail: string, cause?: unknown): Fault =>
    new Fault("WORKLOAD_KEYS_AWAY", { op: "fetch keys", subject: url, detail, cause });
  try {
    await refuseEndpoint(url, { allowPrivate: options.allowPrivate });
  } catch (cause) {
    throw failed("the address is not allowed", cause);
  }
  const answer = await fetch(url, {
    redirect: "error",
    signal: options.signal,
    headers: { accept: "application/json" },
  }).catch((cause: unknown) => {
    throw failed("no answer", cause);
  });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw failed(`HTTP ${answer.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > MOST_BYTES) throw failed("the answer is too long");
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: 200, headers: { "content-type": "application/json" } });
}
