"use client";
import { formatCount } from "#protocol/base/units.ts";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { BatchLine } from "./uploads/batch-line.tsx";
import { progressOf } from "./batch-words.ts";
import { DownloadLine } from "./downloads/download-line.tsx";
import { useDownloads } from "./downloads/downloads.ts";
import { UploadButton } from "./uploads/upload-button.tsx";
import { useBatches, useUploadManager } from "./uploads/use-upload-manager.ts";

/** Lists the transfers of this browser. Unlike transfers of nodes, they need this page to stay open. */
export function ThisBrowserPanel() {
  const manager = useUploadManager();
  const batches = useBatches(manager);
  const downloads = useDownloads();
  const running = [...(batches ?? []), ...downloads].filter(({ state }) => state === "running");
  const total = {
    bytesDone: running.reduce((sum, { bytesDone }) => sum + bytesDone, 0),
    bytesTotal: running.reduce((sum, { bytesTotal }) => sum + bytesTotal, 0),
  };
  return (
    <Panel
      label="This browser"
      title="This browser"
      note={
        running.length > 0
          ? `${formatCount(running.length)} moving, ${progressOf(total)}. Keep this page open; uploads go on after a reload.`
          : undefined
      }
      side={<UploadButton />}
    >
      {manager === null || batches === null ? (
        <SkeletonRows rows={1} label="Looking for uploads of this browser" />
      ) : batches.length + downloads.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          No transfers in this browser. Files go straight between it and the bucket, in parts that outlive a reload.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {downloads.map((view) => (
            <DownloadLine key={view.id} view={view} />
          ))}
          {batches.map((batch) => (
            <BatchLine key={batch.id} batch={batch} manager={manager} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
