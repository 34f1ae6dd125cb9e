"use client";
import { formatCount } from "#protocol/units.ts";
import { Panel } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { BatchLine } from "./batch-line.tsx";
import { DownloadLine } from "./download-line.tsx";
import { useDownloads } from "./downloads.ts";
import { UploadButton } from "./upload-button.tsx";
import { useBatches, useDesk } from "./use-desk.ts";

/** What this browser itself moves. Unlike what nodes do, it needs this page. */
export function ThisBrowserPanel() {
  const desk = useDesk();
  const batches = useBatches(desk);
  const downloads = useDownloads();
  const running = batches?.filter(({ state }) => state === "running").length ?? 0;
  return (
    <Panel
      label="This browser"
      title="This browser"
      note={
        running > 0
          ? `${formatCount(running)} moving. Keep a page of Tidemark open; after a reload it goes on.`
          : undefined
      }
      side={<UploadButton />}
    >
      {desk === null || batches === null ? (
        <SkeletonRows rows={1} label="Looking for uploads of this browser" />
      ) : batches.length + downloads.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          This browser moves nothing. Files go straight between it and the bucket, in parts that outlive a reload.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {downloads.map((view) => (
            <DownloadLine key={view.id} view={view} />
          ))}
          {batches.map((batch) => (
            <BatchLine key={batch.id} batch={batch} desk={desk} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
