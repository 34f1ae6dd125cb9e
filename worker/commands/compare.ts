import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { FileChange, PlacesCompared, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { compareSides, type ComparedSide } from "#storage/inspect/compare-checkpoints.ts";
import { createInspector, type Inspector } from "#storage/inspect/inspector.ts";
import { EXIT, shownName, usage, type CommandContext } from "../command-line/command-context.ts";
import { readRunToRestore } from "../local-api/read-run-at-step.ts";
import { sideOfStored } from "../restore/inspect-stored.ts";
import { readKeyFile } from "../standalone/key-file.ts";
import { openBucket, readTo } from "../standalone/open-standalone.ts";
import { openStored, type Looking } from "./inspect/open-stored.ts";

const SHOWN = "tidemark compare RUN[@STEP] RUN[@STEP] --to s3://bucket/prefix";

interface Side extends ComparedSide {
  run: string;
  step: number;
  checkpointId: string;
}

/**
 * Implements `tidemark compare RUN@STEP RUN@STEP --to s3://bucket/prefix`: compares two checkpoints by their manifests
 * and the headers of their tensors, as a hub does. Faults: BAD_INPUT, NOT_FOUND, SEAL_KEY_NEEDED, SEAL_BROKEN, those of
 * the store, CANCELLED.
 */
export async function compareStored(
  { config, operands, terminal, signal }: CommandContext,
  openInspector: () => Inspector = createInspector,
): Promise<number> {
  const [first, second, extra] = operands;
  if (first === undefined || second === undefined || extra !== undefined)
    throw usage("compare", `it takes two checkpoints: ${SHOWN}`);
  const wanted = [first, second].map((text) => readRunToRestore(text, SHOWN));
  const to = config.text("to");
  if (to === null) throw usage("--to", `it says where they lie: ${SHOWN}`);
  const keyPath = config.text("encrypt-key");
  const keyFile = keyPath === null ? null : await readKeyFile(keyPath);
  const opened = await openBucket(config, { ...readTo(to), signal });
  const inspector = openInspector();
  try {
    const sides: Side[] = [];
    for (const point of wanted) sides.push(await openSide({ opened, keyFile, inspector, signal }, point));
    const [from, after] = sides;
    if (from === undefined || after === undefined) throw new Fault("INTERNAL", { op: "compare" });
    const compared = await compareSides(from, after);
    const result = { from: named(from), to: named(after), ...compared };
    terminal.result(sentencesOf(result), { type: "compared", ...result });
    return isSame(compared) ? EXIT.ok : EXIT.differs;
  } finally {
    await inspector.close();
    await opened.close();
  }
}

const named = ({ run, step, checkpointId }: Side) => ({ run, step, checkpointId });

async function openSide(
  looking: Looking & { inspector: Inspector },
  point: ReturnType<typeof readRunToRestore>,
): Promise<Side> {
  const { listed, ...checkpoint } = await openStored({ ...looking, op: "compare" }, point);
  const side = await sideOfStored(looking.inspector, checkpoint, looking.signal);
  return { ...side, run: point.run, step: listed.step, checkpointId: listed.checkpointId };
}

function isSame(compared: PlacesCompared): boolean {
  const { added, removed, changed, differs, unknown, omitted, files } = compared;
  const lists = [added, removed, changed, differs, files?.added, files?.removed, files?.changed];
  if (!lists.every((list) => list === undefined || list.length === 0)) return false;
  // Files with equal bytes hold equal tensors, even where no checksum exists for the tensors.
  if (files !== null) return files.unknown + files.omitted === 0;
  return unknown + omitted === 0;
}

const MOST_LINES = 100;

const atSide = ({ run, step }: { run: string; step: number }) => `${shownName(run)} ${stepWords(step)}`;
const shapeOf = ({ dtype, shape }: Pick<TensorFacts, "dtype" | "shape">) => `${dtype} [${shape.join(", ")}]`;

/** Returns `120 the same, 3 unknown (no checksum)`. */
function countsOf(about: { same: number; unknown: number; rows: number }): string {
  const unknown = about.unknown === 0 ? "" : `, ${formatCount(about.unknown)} unknown (no checksum tells)`;
  return `${formatCount(about.same)} the same, ${formatCount(about.rows)} not${unknown}`;
}

function sentencesOf(compared: PlacesCompared & Record<"from" | "to", { run: string; step: number }>): string[] {
  const { from, to, files, same, unknown, omitted, warnings } = compared;
  const tensors = [
    ...compared.changed.map((one) => `! ${shownName(one.name)}  ${shapeOf(one.from)} -> ${shapeOf(one.to)}`),
    ...compared.differs.map((name) => `~ ${shownName(name)}`),
    ...compared.added.map((one) => `+ ${shownName(one.name)}  ${shapeOf(one)}`),
    ...compared.removed.map((one) => `- ${shownName(one.name)}  ${shapeOf(one)}`),
  ];
  const lines = [
    `${atSide(from)} -> ${atSide(to)}`,
    `Tensors: ${countsOf({ same, unknown, rows: tensors.length + omitted })}.`,
    ...cut(tensors, omitted),
  ];
  if (files !== null) {
    const rows = [
      ...files.changed.map(changeOf),
      ...files.added.map(({ path, sizeBytes }) => `+ ${shownName(path)}  ${formatBytes(sizeBytes)}`),
      ...files.removed.map(({ path, sizeBytes }) => `- ${shownName(path)}  ${formatBytes(sizeBytes)}`),
    ];
    lines.push(`Files: ${countsOf({ ...files, rows: rows.length + files.omitted })}.`, ...cut(rows, files.omitted));
  }
  return [...lines, ...warnings.map((sentence) => `Note: ${shownName(sentence)}.`)];
}

function changeOf({ path, fromBytes, toBytes, changedParts, parts }: FileChange): string {
  const size = fromBytes === toBytes ? formatBytes(toBytes) : `${formatBytes(fromBytes)} -> ${formatBytes(toBytes)}`;
  const of = changedParts === null ? "" : `, ${formatCount(changedParts)} of ${formatCount(parts)} parts`;
  return `~ ${shownName(path)}  ${size}${of}`;
}

function cut(lines: readonly string[], omitted: number): string[] {
  const more = Math.max(0, lines.length - MOST_LINES) + omitted;
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
  return more <= 0 ? shown : [...shown, `  and ${formatCount(more)} more; --json lists them`];
}
