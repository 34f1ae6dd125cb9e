"use client";
import { useRef } from "react";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { Mark, type Tone } from "../../_ui/indicators/mark.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { useRowWindow } from "../../_ui/tables/window-rows.ts";
import type { FileView } from "./batch-view.ts";
import type { FileState } from "./kept.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

const TONE: Record<FileState, Tone> = {
  waiting: "quiet",
  running: "moving",
  done: "safe",
  same: "safe",
  failed: "lost",
  "needs-file": "risk",
};
const WORD: Record<FileState, string> = {
  waiting: "waiting",
  running: "moving",
  done: "done",
  same: "already there",
  failed: "failed",
  "needs-file": "choose it again",
};
const ROW_PX = 30;

/** Lists the files of an upload. Only the visible rows are drawn. */
export function FileList({ files }: { files: readonly FileView[] }) {
  const rows = useRef<HTMLUListElement>(null);
  const { first, end, before, after } = useRowWindow({ count: files.length, rowHeight: ROW_PX, rows });
  return (
    <ul ref={rows} aria-label="Files" className="mt-2 rounded-md border border-line bg-bg text-12">
      <li aria-hidden style={{ height: before }} />
      {files.slice(first, end).map((file) => (
        <li
          key={file.path}
          className="flex h-[30px] items-center gap-2 border-b border-line px-2.5 last:border-b-0"
          title={file.fault === null ? undefined : sentenceOf(file.fault)}
        >
          <Mark tone={TONE[file.state]} />
          <span className="min-w-0 flex-1 truncate font-mono">{visibleText(file.path)}</span>
          <span className="nums shrink-0 text-faint">
            {file.state === "running" ? `${formatBytes(file.bytesDone)} of ` : ""}
            {formatBytes(file.sizeBytes)}
          </span>
          <span className="w-[104px] shrink-0 truncate text-right text-soft max-sm:hidden">
            {file.fault === null ? WORD[file.state] : visibleText(sentenceOf(file.fault))}
          </span>
        </li>
      ))}
      <li aria-hidden style={{ height: after }} />
    </ul>
  );
}
