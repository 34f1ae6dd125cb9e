import { resolve } from "node:path";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { checkMasterKey } from "#server/signer/check-master-key.ts";
import { readUpkeepSettings } from "#server/platform/settings/read-maintenance-settings.ts";
import { backUp } from "../back-up.ts";
import { restoreBackup } from "../restore.ts";
import { done, toolsOptions, withTools, type CommandResult, type Scope } from "./scope.ts";
import { openToolsBeside } from "./tools.ts";

/** The commands that take and restore backups. */

export async function backup({ invocation, around, dataFolder, postgres }: Scope): Promise<CommandResult> {
  const settings = readUpkeepSettings(around.variables, dataFolder);
  const keep = invocation.values.get("keep") ?? null;
  if (keep !== null && !/^[1-9]\d{0,3}$/.test(keep)) {
    throw new Fault("BAD_INPUT", { op: "usage", subject: "--keep", detail: "it is a number from 1 to 9999" });
  }
  const made = await backUp({
    dataFolder,
    postgres,
    to: resolve(invocation.values.get("to") ?? settings.backupFolder),
    keep: keep === null ? null : Number(keep),
    compress: invocation.switches.has("gzip") ? "gzip" : "none",
    now: around.now(),
  });
  const removed = made.removed.length === 0 ? "" : ` ${made.removed.length} older ones were removed.`;
  const size = `${formatBytes(made.sizeBytes)} in ${formatDuration(made.tookMs)}`;
  const text = [made.file, `Whole and checked, ${size}.${removed} The master key is not in it: keep it elsewhere.`];
  return done(made, text);
}

export async function restore(scope: Scope): Promise<CommandResult> {
  const { invocation, around, dataFolder, postgres } = scope;
  const from = resolve(invocation.operands[0] ?? "");
  const restored = await restoreBackup({ from, dataFolder, postgres, now: around.now() });
  // Checks the master key now, because a hub without it does not start.
  const key = await withTools(await openToolsBeside(toolsOptions(scope)), async ({ db, signer }) =>
    checkMasterKey(db, signer, around.now()).then(
      () => null,
      (error: unknown) => {
        if (isFault(error)) return error;
        throw error;
      },
    ),
  );
  const lines = [
    `Restored: ${restored.runs} runs and ${restored.checkpoints} complete checkpoints, as of ${new Date(restored.asOf).toISOString()}.`,
    ...(restored.keptAt === null ? [] : [`What was there before lies at ${restored.keptAt}.`]),
    key === null ? "The master key fits: the bucket keys open with it." : `No bucket opens with it yet: ${key.message}`,
    "Start the hub: it asks the buckets for what came after. Nothing is deleted until an admin confirms (`hub confirm`).",
    "Nodes that enrolled after the backup enrol again. Whatever was revoked since (nodes, join tokens, accounts) has to be revoked again.",
  ];
  const isOpen = key === null;
  return done({ ...restored, masterKey: isOpen ? "fits" : key.code }, lines);
}
