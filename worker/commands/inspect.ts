import { stat } from "node:fs/promises";
import { Fault, isFault, sentenceOf } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { createInspector, type Inspector } from "#storage/inspect/inspector.ts";
import type { ByteSource } from "#storage/inspect/source.ts";
import { parseAddress } from "../command-line/address.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { openBeside, sourceOfFile } from "../base/file-source.ts";
import { withStoreSession } from "../store-session/store-session.ts";
import { inspectCheckpoint } from "./inspect-checkpoint.ts";
import { headObject } from "../object-copy/requests/head.ts";
import { readPieces } from "../object-copy/requests/read-range.ts";
import { shownPlace, usage, type StorePlace, type Verb } from "../command-line/verb.ts";

/**
 * `tidemark inspect`: what is inside a checkpoint file, local or in a bucket, by reading only what describes it; with `--to` and
 * a run: a checkpoint, its place and its files. Nothing of
 * it is executed, and no file takes more time or memory than the hub would give it. Ends with the exit code of the fault when the
 * file is damaged.
 * Faults: BAD_INPUT, NOT_FOUND, READ_FAILED, NO_SUCH_KEY, those of the store.
 */
export async function inspect(verb: Verb, openInspector: () => Inspector = createInspector): Promise<number> {
  const [address, extra] = verb.operands;
  const shown =
    "tidemark inspect FILE, tidemark inspect s3://bucket/key, or tidemark inspect RUN[@STEP] --to s3://bucket/prefix";
  if (address === undefined || extra !== undefined) throw usage("inspect", `it takes one file or checkpoint: ${shown}`);
  if (await isRunOfBucket(verb, address)) return inspectCheckpoint(verb, address);
  const place = parseAddress(address);
  if (place.kind === "store" && (place.key === "" || place.key.endsWith("/"))) {
    throw usage(shownPlace(place), "it names no object; the key is missing: s3://bucket/key");
  }
  const inspector = openInspector();
  try {
    const found =
      place.kind === "local" ? await inspectLocal(inspector, place.path) : await inspectStored(inspector, verb, place);
    await write(verb, found);
    return found.fault === null ? 0 : FAULTS[found.fault.code].exit;
  } finally {
    await inspector.close();
  }
}

/** Returns whether the operand is a run in the bucket of `--to`: a name that no file here has. */
async function isRunOfBucket({ config }: Verb, text: string): Promise<boolean> {
  if (config.text("to") === null || text.includes("/")) return false;
  return stat(text).then(
    () => false,
    (error: unknown) => codeOf(error) === "ENOENT",
  );
}

/** Files stay open only as long as they are read from: a file may have many beside it. */
async function inspectLocal(inspector: Inspector, path: string): Promise<FileInspection> {
  const failed = (error: unknown): Fault =>
    codeOf(error) === "ENOENT"
      ? new Fault("NOT_FOUND", { op: "inspect", subject: path })
      : diskFault(error, { op: "inspect", subject: path, otherwise: "READ_FAILED" });
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw usage(path, "it is no file; name one file of the checkpoint");
    return await inspector.inspect(path, sourceOfFile(path, stats.size), (relative) => openBeside(path, relative));
  } catch (error) {
    throw failed(error);
  }
}

const inspectStored = (inspector: Inspector, verb: Verb, place: StorePlace): Promise<FileInspection> =>
  withStoreSession(verb, { bucket: place.bucket, direction: "down" }, async (storeSession) => {
    const { signal } = verb;
    const openKey = async (key: string): Promise<ByteSource> => {
      const head = await headObject(storeSession, { key, signal });
      return {
        sizeBytes: head.sizeBytes,
        read: async (offset, length) => {
          const bytes = Buffer.allocUnsafeSlow(length);
          let at = 0;
          for await (const piece of readPieces(storeSession, {
            key,
            etag: head.etag,
            offset,
            length,
            ahead: 2,
            signal,
          }))
            at += piece.copy(bytes, at);
          return bytes;
        },
      };
    };
    const folder = place.key.slice(0, place.key.lastIndexOf("/") + 1);
    return inspector.inspect(place.key, await openKey(place.key), (relative) =>
      openKey(folder + relative).catch((error: unknown) => {
        if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
        throw error;
      }),
    );
  });

async function write(verb: Verb, found: FileInspection): Promise<void> {
  const lines = verb.config.isOn("json") ? jsonLines(found) : tableOf(found);
  await verb.output(Buffer.from(`${lines.join("\n")}\n`));
}

function jsonLines(found: FileInspection): string[] {
  const { tensors, tensorsOmitted: _omitted, path, ...rest } = found;
  const rows = tensors.map((tensor) => JSON.stringify({ type: "tensor", ...tensor }));
  return [...rows, JSON.stringify({ type: "inspected", name: path, tensors: tensors.length, ...rest })];
}

const NAME_WIDTH = 60;

const tensorCount = (count: number): string => `${formatCount(count)} ${count === 1 ? "tensor" : "tensors"}`;

function tableOf(found: FileInspection): string[] {
  const { format, sizeBytes, readBytes, tensors, parameters, weights, dtypes, metadata, curve, warnings, fault } =
    found;
  const framework = found.framework === null ? "" : `, ${found.framework}`;
  const lines = [
    `${visibleStart(found.path, 1_024)}: ${format}${framework}, ${formatBytes(sizeBytes)} (${formatBytes(readBytes)} of it read)`,
  ];
  if (tensors.length > 0) {
    const state =
      parameters > weights ? `, ${formatCount(parameters - weights)} elements of optimizer and other state` : "";
    lines.push(`${tensorCount(tensors.length)}, ${formatCount(weights)} parameters${state}`);
    for (const share of dtypes)
      lines.push(
        `  ${share.dtype.padEnd(10)} ${formatBytes(share.sizeBytes).padStart(9)}  ${tensorCount(share.tensors)}`,
      );
    lines.push("");
    for (const { name, dtype, shape, sizeBytes: bytes } of tensors) {
      const shown = visibleStart(name === "" ? "(the array)" : name, 1_024).padEnd(NAME_WIDTH);
      lines.push(`${shown}  ${dtype.padEnd(10)} ${formatBytes(bytes).padStart(9)}  [${shape.join(", ")}]`);
    }
  }
  if (metadata.length > 0) lines.push("", ...metadata.map(({ name, value }) => `${name}: ${value}`));
  if (curve !== null) {
    lines.push("", "   step        loss   eval loss  learning rate");
    for (const { step, loss, evalLoss, learningRate } of curve.points) {
      lines.push(
        `${String(step).padStart(7)}  ${numberText(loss)}  ${numberText(evalLoss)}  ${numberText(learningRate)}`,
      );
    }
  }
  if (found.names.length > 0) lines.push("", "Belonging to it:", ...found.names.map((name) => `  ${name}`));
  if (found.preview !== null && metadata.length === 0 && curve === null) lines.push("", found.preview);
  if (warnings.length > 0) lines.push("", ...warnings.map((sentence) => `Note: ${sentence}.`));
  if (fault !== null) lines.push("", sentenceOf(fault));
  return lines;
}

const numberText = (value: number | null): string =>
  (value === null ? "-" : String(Number(value.toPrecision(6)))).padStart(10);
