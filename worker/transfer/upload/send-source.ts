import { constants } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { closeFile, openFile } from "#worker/base/adaptive-sync-io.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { assertUnchanged, type ExpectedFile } from "#worker/base/identity.ts";
import { createPartReader, sumSlice, type PartReader, type PartSums } from "./read-part.ts";

/** Source of the bytes of an object while it is sent: any part of them, as often as needed. */
export interface SendSource {
  /** Rejects when the source has changed. Faults: SOURCE_CHANGED. */
  assertUnchanged(): Promise<void>;
  /** Returns a reader of a part. `crc32Hex`: as in `createPartReader`. */
  reader(part: PlannedPart, crc32Hex: string | null): PartReader;
  /** Returns where the bytes of a part lie in a file exactly as they are sent; null when they lie in none. */
  placeOf(part: PlannedPart): { fd: number; offset: number } | null;
  /** Returns the checksums of a part. Faults: READ_FAILED, SOURCE_CHANGED. */
  sum(part: PlannedPart, checksum: StoreChecksum): Promise<PartSums>;
  close(): Promise<void>;
}

/** Opens a file as a source. Faults: READ_FAILED, SOURCE_CHANGED when it is not the expected file. */
export async function openFileSource(file: ExpectedFile): Promise<SendSource> {
  const { path } = file;
  try {
    const fd = await openFile(path, constants.O_RDONLY);
    const sliceOf = ({ offset, length }: PlannedPart) => ({ fd, path, offset, length });
    try {
      await assertUnchanged({ fd }, file);
    } catch (error) {
      await closeFile(fd);
      throw error;
    }
    return {
      assertUnchanged: () => assertUnchanged({ fd }, file),
      reader: (part, crc32Hex) => createPartReader(sliceOf(part), crc32Hex),
      placeOf: ({ offset }) => ({ fd, offset }),
      sum: (part, checksum) => sumSlice(sliceOf(part), checksum),
      close: () => closeFile(fd),
    };
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      const detail = "it was removed before it was sent";
      throw new Fault("READ_FAILED", { op: "read", subject: path, detail, cause: error });
    }
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}
