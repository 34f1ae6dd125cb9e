import * as z from "zod";

const handedOver = z.object({ secrets: z.record(z.string(), z.string()) });

/** Set for a command that the hub starts: its secrets come as a message too. */
export const HANDED = "TIDEMARK_HANDED";

/** Returns the secrets that the launcher sends as its first message, by the names of their variables. */
export async function receiveSecrets(): Promise<Readonly<Record<string, string>>> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  process.once("message", resolve);
  return handedOver.parse(await promise).secrets;
}
