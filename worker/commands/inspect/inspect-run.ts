import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import type { CheckpointInspection, FileSummary } from "#protocol/checkpoint/inspect.ts";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Fault, sentenceOf } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import type { Inspector } from "#storage/inspect/inspector.ts";
import { summariseCheckpoint } from "#storage/inspect/summarise.ts";
import { shownName, usage, type CommandContext } from "../../command-line/command-context.ts";
import { readRunToRestore } from "../../local-api/read-run-at-step.ts";
import { inspectorOf, inspectStored, type ReadableCheckpoint } from "../../restore/inspect-stored.ts";
import { readKeyFile } from "../../standalone/key-file.ts";
import { openBucket, readTo } from "../../standalone/open-standalone.ts";
import { lineageOf, lineageSentences, type Lineage } from "./lineage-sentences.ts";
import { openStored } from "./open-stored.ts";
import { curveLines, sumLines, tensorCount, writeInspection } from "./write-inspection.ts";

const SHOWN = "tidemark inspect RUN[@STEP] [FILE] --to s3://bucket/prefix";

/** Facts about a checkpoint besides its files. */
interface About extends Lineage {
  run: string;
  step: number;
  epoch: number;
  node: string | null;
  isEncrypted: boolean;
  capturedAt: number;
  sizeBytes: number;
}

/**
 * Implements `tidemark inspect RUN[@STEP] [FILE] --to s3://bucket/prefix`: shows place, lineage and contents of a
 * checkpoint in a bucket, or the contents of one of its files, by reading only headers. Ends with the exit code of the
 * first damaged file. Faults: BAD_INPUT, NOT_FOUND, SEAL_KEY_NEEDED, SEAL_BROKEN, those of the store, CANCELLED.
 */
export async function inspectRun(context: CommandContext, to: string, openInspector: () => Inspector): Promise<number> {
  const { config, operands, terminal, signal } = context;
  const [name = "", path, extra] = operands;
  if (extra !== undefined) throw usage(extra, `it takes one checkpoint, and at most one file of it: ${SHOWN}`);
  const request = readRunToRestore(name, SHOWN);
  const keyPath = config.text("encrypt-key");
  const keyFile = keyPath === null ? null : await readKeyFile(keyPath);
  const opened = await openBucket(config, { ...readTo(to), signal });
  const inspector = openInspector();
  try {
    const { listed, ...checkpoint } = await openStored({ opened, keyFile, op: "inspect" }, request);
    if (path !== undefined)
      return await writeInspection(context, await inspectOne(inspector, { checkpoint, path, signal }));
    const { manifest, key } = checkpoint;
    const { checkpointId, step, writerEpoch: epoch } = listed;
    const inspected = await inspectStored(inspector, checkpoint, signal);
    const found = summariseCheckpoint({ checkpointId, manifest }, inspected);
    const node = isAdopted(manifest) ? null : manifest.node.name;
    const { capturedAt, sizeBytes } = manifest;
    const told = { run: request.run, step, epoch, node, isEncrypted: key !== null, capturedAt, sizeBytes };
    const about: About = { ...told, ...lineageOf(manifest) };
    const { files, tree: _tree, ...sums } = found;
    terminal.result(sentencesOf(about, found), { type: "checkpoint", ...about, ...sums, files });
    const fault = files.find((file) => file.fault !== null)?.fault ?? null;
    return fault === null ? 0 : FAULTS[fault.code].exit;
  } finally {
    await inspector.close();
    await opened.close();
  }
}

/**
 * Finds a file of the checkpoint. @throws Fault NOT_FOUND that names some existing files, those of a read, CANCELLED
 */
function inspectOne(
  inspector: Inspector,
  about: { checkpoint: ReadableCheckpoint; path: string; signal: AbortSignal },
): ReturnType<ReturnType<typeof inspectorOf>> {
  const { checkpoint, path, signal } = about;
  const { files } = checkpoint.manifest;
  const file = files.find((one) => one.path === path);
  if (file !== undefined) return inspectorOf(inspector, checkpoint, signal)(file);
  const more = files.length > MOST_NAMED ? ` and ${formatCount(files.length - MOST_NAMED)} more` : "";
  const names = files.slice(0, MOST_NAMED).map((one) => shownName(one.path));
  throw new Fault("NOT_FOUND", {
    op: "inspect",
    subject: path,
    detail: `the checkpoint has ${names.join(", ")}${more}`,
  });
}

const MOST_NAMED = 5;
const MOST_FILES = 100;

function sentencesOf(about: About, found: CheckpointInspection): string[] {
  const { files, filesOmitted, framework, dtypes, curve, warnings } = found;
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const read = files.reduce((sum, { readBytes }) => sum + readBytes, 0);
  const by = about.node === null ? "" : `, by ${shownName(about.node)}`;
  const kind = [...(framework === null ? [] : [shownName(framework)]), ...(about.isEncrypted ? ["encrypted"] : [])];
  const what = [...kind, `${formatCount(files.length)} file${files.length === 1 ? "" : "s"}`, formatBytes(bytes)].join(
    ", ",
  );
  const lines = [
    `${shownName(about.run)} ${stepWords(about.step, about.stepSource ?? undefined)}, epoch ${about.epoch}${by}: ${what} (${formatBytes(read)} of it read)`,
    ...lineageSentences(about.epoch, about),
  ];
  const tensors = files.reduce((sum, file) => sum + file.tensors, 0);
  if (tensors > 0) lines.push(...sumLines({ ...found, dtypes, tensors }));
  const more = Math.max(0, files.length - MOST_FILES) + filesOmitted;
  lines.push("", ...files.slice(0, MOST_FILES).map(lineOfFile));
  if (more > 0) lines.push(`and ${formatCount(more)} more files; --json lists those that were looked at`);
  if (curve !== null) lines.push("", ...curveLines(curve));
  if (warnings.length > 0) lines.push("", ...warnings.map((sentence) => `Note: ${shownName(sentence)}.`));
  return lines;
}

function lineOfFile({ path, format, sizeBytes, tensors, fault }: FileSummary): string {
  const inside = tensors === 0 ? "" : `, ${tensorCount(tensors)}`;
  const why = fault === null ? "" : `: ${sentenceOf(fault)}`;
  return `${shownName(path)}: ${format}, ${formatBytes(sizeBytes)}${inside}${why}`;
}
