"use client";
import { useQuery } from "@tanstack/react-query";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { CheckpointRow, RestorePlan } from "#protocol/wire/views.ts";
import { checkpointQuery } from "../_hub/queries/queries.ts";
import { useLiveTransfer } from "../_hub/live/live.tsx";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

interface RestoreProgressProps {
  transferId: string;
  checkpoint: CheckpointRow;
  nodeName: string;
  targetPath: string;
  chosen: RestorePlan["chosen"];
}

/** Shows a running restore as a sentence, and at the end the verified result. */
export function RestoreProgress({ transferId, checkpoint, nodeName, targetPath, chosen }: RestoreProgressProps) {
  const live = useLiveTransfer(transferId);
  const stored = useQuery({ ...checkpointQuery(checkpoint.id), refetchInterval: live === null ? 2000 : false });
  const row = live ?? stored.data?.restores.find((one) => one.id === transferId) ?? null;
  if (row === null)
    return (
      <Banner tone="moving" title={`Waiting for ${visibleText(nodeName)} to take it.`}>
        The command is stored at the hub; the node gets it as soon as it answers.
      </Banner>
    );
  if (row.state === "done") {
    const tookMs = row.startedAt === null || row.endedAt === null ? null : row.endedAt - row.startedAt;
    return (
      <Banner
        tone="safe"
        title={`Restored and verified: ${chosenWords(chosen)}${tookMs === null ? "" : ` in ${formatDuration(tookMs)}`}.`}
        action={<Copy text={targetPath} label="Copy the path" />}
      >
        Saved on {visibleText(nodeName)} at <span className="font-mono text-12">{visibleText(targetPath)}</span>.
      </Banner>
    );
  }
  return (
    <ul className="-mx-4">
      <TransferLine row={row} />
    </ul>
  );
}

function chosenWords({ files, bytes, tensors }: RestorePlan["chosen"]): string {
  const where = `${formatCount(files)} ${files === 1 ? "file" : "files"}`;
  if (tensors === null) return `${where}, ${formatBytes(bytes)}`;
  return `${formatCount(tensors.count)} ${tensors.count === 1 ? "tensor" : "tensors"} in ${where}, ${formatBytes(tensors.bytes)}`;
}
