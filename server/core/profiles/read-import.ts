import type { ImportView } from "#protocol/wire/profile-views.ts";
import { readImport } from "#storage/import/read-import.ts";
import { audit } from "../api/audit.ts";
import type { Context } from "../api/trpc.ts";
import { personIdOf } from "./key-of.ts";

/**
 * Reads a pasted text. Its keys are sealed and kept for a quarter of an hour under a handle that only this person can use.
 * The answer names them by their last characters.
 */
export async function readPastedText(context: Context, input: { text: string }): Promise<ImportView> {
  const { hub } = context;
  const { made, kind, findings, ignored } = readImport(input.text);
  const credentials = made.map(({ credential }) => credential);
  const hasKey = credentials.some((credential) => credential !== null);
  const held = hasKey ? await hub.imports.hold(personIdOf(context), credentials) : null;
  if (hasKey)
    await audit(hub, context.caller, { action: "read keys from a text", subject: `${made.length} (${kind})` });
  return {
    handle: held?.handle ?? null,
    expiresAt: held?.expiresAt ?? null,
    kind,
    drafts: made.map(({ draft }) => draft),
    findings,
    ignored,
  };
}
