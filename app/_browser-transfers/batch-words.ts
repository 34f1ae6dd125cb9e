import { formatCount, formatEta, formatRate, type RateUnit } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { percentOf } from "./byte-map.ts";
import type { UploadBatch } from "./uploads/upload-manager.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Wording of uploads of this browser. */

export function toneOf({ state, fault, files }: UploadBatch): Tone {
  switch (state) {
    case "running":
      return "moving";
    case "paused":
      return fault === null ? "risk" : "lost";
    case "needs-files":
      return "risk";
    case "ended":
      return files.failed > 0 ? "lost" : "safe";
  }
}

export const placeOf = ({ bucket, prefix }: UploadBatch): string => `s3://${bucket}/${prefix}`;

/** Returns what is uploaded: the file's name, or the number of files. */
export const subjectOf = ({ only, filesTotal }: UploadBatch): string => only ?? `${formatCount(filesTotal)} files`;

/** Returns the right end of the sentence: rate and time left, or why there is none. */
export function paceOf(batch: UploadBatch, unit: RateUnit): string {
  const { state, bytesPerSecond, bytesTotal, bytesDone } = batch;
  switch (state) {
    case "running": {
      if (bytesPerSecond === 0) return "starting";
      const etaMs = ((bytesTotal - bytesDone) / bytesPerSecond) * 1000;
      return [formatRate(bytesPerSecond, unit), formatEta(etaMs) ?? "time left not known yet"].join(" · ");
    }
    case "paused":
      return batch.fault === null ? "paused" : "stopped";
    case "needs-files":
      return batch.asked?.for === "leave" ? "permission needed" : `${batch.asked?.pick ?? "files"} needed`;
    case "ended":
      return batch.files.failed > 0 ? "ended" : "done";
  }
}

/** Returns the progress in bytes: `585 KiB of 151 MiB (0 %)`. */
export const progressOf = ({ bytesDone, bytesTotal }: Pick<UploadBatch, "bytesDone" | "bytesTotal">): string =>
  `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)} (${percentOf(bytesDone, bytesTotal)} %)`;

/** Returns the second line: progress, files, connections and retries. */
export function factsOf(batch: UploadBatch): string {
  const { files, filesTotal, bytesDone, bytesTotal, connections, retries, reusedParts } = batch;
  const settled = files.done + files.same;
  return [
    progressOf({ bytesDone, bytesTotal }),
    ...(filesTotal === 1 ? [] : [`${formatCount(settled)} of ${formatCount(filesTotal)} files`]),
    ...(files.same > 0 ? [`${formatCount(files.same)} already there`] : []),
    ...(files.failed > 0 ? [`${formatCount(files.failed)} failed`] : []),
    ...(connections > 0 ? [`${connections} connection${connections === 1 ? "" : "s"}`] : []),
    ...(reusedParts > 0 ? [`${formatCount(reusedParts)} part${reusedParts === 1 ? "" : "s"} not sent again`] : []),
    ...(retries > 0 ? [`${formatCount(retries)} ${retries === 1 ? "retry" : "retries"}`] : []),
    ...(batch.owner === "elsewhere" ? ["in another tab"] : []),
  ].join(" · ");
}
