"use client";
import { useRef, useState } from "react";
import { formatBytes, formatCount } from "#protocol/units.ts";
import type { CheckpointView } from "#protocol/views.ts";
import { DownloadButton } from "../../../_browser-transfers/download-button.tsx";
import { SearchField } from "../../../_shell/page-head.tsx";
import { Panel } from "../../../_ui/panel.tsx";
import { Cell, Row, SpacerRow, Table, type Column } from "../../../_ui/table.tsx";
import { visibleText } from "../../../_ui/visible-text.ts";
import { useRowWindow } from "../../../_ui/window-rows.ts";

const COLUMNS: readonly Column[] = [
  { key: "path", head: "File" },
  { key: "parts", head: "Parts", align: "right", from: "sm" },
  { key: "crc", head: "CRC32", align: "right", from: "md" },
  { key: "size", head: "Size", align: "right" },
  { key: "download", head: "", label: "Download", align: "right", from: "sm" },
];
const HEIGHT = 35;

/** The files of a checkpoint. Their names are a stranger's word: shown with unseen characters escaped. */
export function CheckpointFiles({ view }: { view: CheckpointView }) {
  const [typed, setTyped] = useState("");
  const frame = useRef<HTMLDivElement>(null);
  const files = view.files.filter((file) => file.path.toLowerCase().includes(typed.toLowerCase()));
  const shown = useRowWindow({ count: files.length, rowHeight: HEIGHT, rows: frame });
  return (
    <Panel
      title="Files"
      note={<span className="nums">{formatCount(view.fileCount)}</span>}
      side={<SearchField label="Filter files" value={typed} onChange={setTyped} placeholder="Part of a path" />}
    >
      {files.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          {view.files.length === 0 ? "The list of files comes with the first report of the node." : "No file matches."}
        </p>
      ) : (
        <div ref={frame}>
          <Table label="Files" columns={COLUMNS}>
            {shown.before > 0 && <SpacerRow columns={COLUMNS.length} height={shown.before} />}
            {files.slice(shown.first, shown.end).map((file) => (
              <Row key={file.path}>
                <Cell className="max-w-0 w-full truncate font-mono text-12" title={visibleText(file.path)}>
                  {visibleText(file.path)}
                </Cell>
                <Cell from="sm" align="right" className="text-soft">
                  {formatCount(file.parts)}
                </Cell>
                <Cell from="md" align="right" className="font-mono text-12 text-soft">
                  {file.crc32 ?? "–"}
                </Cell>
                <Cell align="right">{formatBytes(file.sizeBytes)}</Cell>
                <Cell from="sm" align="right" className="py-[4px]">
                  <DownloadButton
                    label={`Download ${visibleText(file.path)}`}
                    disabled={view.state !== "complete"}
                    wanted={{ kind: "checkpoint file", checkpointId: view.id, path: file.path }}
                  />
                </Cell>
              </Row>
            ))}
            {shown.after > 0 && <SpacerRow columns={COLUMNS.length} height={shown.after} />}
          </Table>
        </div>
      )}
      {view.filesOmitted > 0 && (
        <p className="nums border-t border-line px-4 py-2.5 text-soft">
          {formatCount(view.filesOmitted)} more files are in the manifest.
        </p>
      )}
    </Panel>
  );
}
