import { stat } from "node:fs/promises";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { createInspector, type Inspector } from "#storage/inspect/inspector.ts";
import type { ByteSource } from "#storage/inspect/source.ts";
import { mayNameRun, parseAddress } from "../../command-line/address.ts";
import { codeOf, diskFault } from "../../base/disk-fault.ts";
import { openBeside, sourceOfFile } from "../../base/file-source.ts";
import { withStoreSession } from "../../store-session/store-session.ts";
import { assertReadable, headObject } from "../../object-copy/requests/head.ts";
import { assertNoMark } from "../../object-copy/requests/stands-for-folder.ts";
import { readPieces } from "../../object-copy/requests/read-range.ts";
import { inspectRun } from "./inspect-run.ts";
import { writeInspection } from "./write-inspection.ts";
import { shownPlace, usage, type StorePlace, type CommandContext } from "../../command-line/command-context.ts";

/**
 * Implements `tidemark inspect`: shows the contents of a checkpoint file, local or in a bucket, by reading only
 * headers. Executes nothing, within the hub's limits of time and memory. Ends with the exit code of the fault when the
 * file is damaged. Faults: BAD_INPUT, NOT_FOUND, READ_FAILED, NO_SUCH_KEY, those of the store.
 */
export async function inspect(
  context: CommandContext,
  openInspector: () => Inspector = createInspector,
): Promise<number> {
  const [address, extra] = context.operands;
  const shown =
    "tidemark inspect FILE, tidemark inspect s3://bucket/key, or tidemark inspect RUN[@STEP] --to s3://bucket/prefix";
  const to = context.config.text("to");
  if (to !== null && address !== undefined && mayNameRun(address)) return inspectRun(context, to, openInspector);
  if (address === undefined || extra !== undefined) throw usage("inspect", `it takes one file: ${shown}`);
  const place = parseAddress(address);
  if (place.kind === "store" && (place.key === "" || place.key.endsWith("/"))) {
    throw usage(shownPlace(place), "it names no object; the key is missing: s3://bucket/key");
  }
  const inspector = openInspector();
  try {
    const found =
      place.kind === "local"
        ? await inspectLocal(inspector, place.path)
        : await inspectStored(inspector, context, place);
    return await writeInspection(context, found);
  } finally {
    await inspector.close();
  }
}

/** Opens files only while they are read, because a checkpoint may have many. */
async function inspectLocal(inspector: Inspector, path: string): Promise<FileInspection> {
  const failed = (error: unknown): Fault =>
    codeOf(error) === "ENOENT"
      ? new Fault("NOT_FOUND", {
          op: "inspect",
          subject: path,
          detail: "a run is looked into with --to s3://bucket/prefix",
        })
      : diskFault(error, { op: "inspect", subject: path, otherwise: "READ_FAILED" });
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw usage(path, "it is no file; name one file of the checkpoint");
    return await inspector.inspect(path, sourceOfFile(path, stats.size), (relative) => openBeside(path, relative));
  } catch (error) {
    throw failed(error);
  }
}

const inspectStored = (inspector: Inspector, context: CommandContext, place: StorePlace): Promise<FileInspection> =>
  withStoreSession(context, { bucket: place.bucket, direction: "down" }, async (storeSession) => {
    const { signal } = context;
    const openKey = async (key: string): Promise<ByteSource> => {
      const head = await headObject(storeSession, { key, signal });
      assertReadable(head, { op: "inspect", key });
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
    const source = await openKey(place.key);
    await assertNoMark(storeSession, { key: place.key, sizeBytes: source.sizeBytes, signal });
    return inspector.inspect(place.key, source, (relative) =>
      openKey(folder + relative).catch((error: unknown) => {
        if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
        throw error;
      }),
    );
  });
