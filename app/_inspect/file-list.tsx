"use client";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { usePathname, useSearchParams } from "next/navigation";
import { useRef } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointFileView } from "#protocol/wire/views.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { DownloadButton } from "../_browser-transfers/downloads/download-button.tsx";
import { Cell, Row, RowLink, SpacerRow, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { filesQuery, FILES_AT_ONCE } from "./queries.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "path", head: "File" },
  { key: "parts", head: "Parts", align: "right", from: "sm" },
  { key: "crc", head: "CRC32", align: "right", from: "md" },
  { key: "size", head: "Size", align: "right" },
  { key: "download", head: "", label: "Download", align: "right", from: "sm" },
];
const HEIGHT = 35;
const SORTS = [
  { id: "path", label: "By path" },
  { id: "size", label: "Largest first" },
] as const;

interface FileListProps {
  checkpointId: string;
  look: "inside" | "only";
  /** `none` when the bytes are useless to a browser, such as those of an encrypted file. */
  downloads?: "offered" | "none";
}

/**
 * Lists the files of a checkpoint; rows load while scrolling. Invisible characters in names are escaped, because names come
 * from strangers. Each row links to the content of its file.
 */
export function FileList({ checkpointId, look, downloads = "offered" }: FileListProps) {
  const [words, setWords] = useAddressWord("q", "", "same");
  const [word, setWord] = useAddressWord("sort", "path");
  const sort = word === "size" ? "size" : "path";
  const frame = useRef<HTMLDivElement>(null);
  const asked = { checkpointId, words, sort } as const;
  const head = useQuery({ ...filesQuery({ ...asked, offset: 0 }), placeholderData: keepPreviousData });
  const count = head.data?.matching ?? 0;
  const shown = useRowWindow({ count, rowHeight: HEIGHT, rows: frame });
  const first = Math.floor(shown.first / FILES_AT_ONCE);
  const last = Math.max(first, Math.floor((shown.end - 1) / FILES_AT_ONCE));
  const pages = useQueries({
    queries: Array.from({ length: last - first + 1 }, (_, page) =>
      filesQuery({ ...asked, offset: (first + page) * FILES_AT_ONCE }),
    ),
  });
  const fileAt = (index: number): CheckpointFileView | undefined =>
    pages[Math.floor(index / FILES_AT_ONCE) - first]?.data?.files[index % FILES_AT_ONCE];
  const data = head.data;
  const fault = [head, ...pages].find((page) => page.isError);
  return (
    <Panel
      label="Files"
      title="Files"
      note={
        data !== undefined && (
          <span className="nums">
            {words === "" ? "" : `${formatCount(data.matching)} of `}
            {formatCount(data.total)}
            {words === "" ? "" : `, ${formatBytes(data.matchingBytes)}`}
          </span>
        )
      }
      side={
        <>
          <FilterWords label="Order" words={SORTS} value={sort} onChange={setWord} />
          <SearchField label="Filter files" value={words} onChange={setWords} placeholder="Part of a path" />
        </>
      }
    >
      {fault !== undefined && (
        <div className="p-3">
          <FaultNote fault={faultOf(fault.error)} onRetry={() => void fault.refetch()} />
        </div>
      )}
      {data === undefined ? (
        fault === undefined && <SkeletonRows rows={6} label="Loading the files" />
      ) : count === 0 ? (
        <p className="px-4 py-6 text-soft">
          {data.total === 0 ? "The list of files comes with the first report of the node." : "No file matches."}
        </p>
      ) : (
        <div ref={frame}>
          <Table label="Files" columns={COLUMNS}>
            {shown.before > 0 && <SpacerRow columns={COLUMNS.length} height={shown.before} />}
            {Array.from({ length: shown.end - shown.first }, (_, row) => (
              <FileRow
                key={shown.first + row}
                checkpointId={checkpointId}
                file={fileAt(shown.first + row)}
                look={look}
                downloads={downloads}
              />
            ))}
            {shown.after > 0 && <SpacerRow columns={COLUMNS.length} height={shown.after} />}
          </Table>
        </div>
      )}
    </Panel>
  );
}

interface FileRowProps {
  checkpointId: string;
  /** Undefined while its page loads. */
  file: CheckpointFileView | undefined;
  look: "inside" | "only";
  downloads: "offered" | "none";
}

function FileRow({ checkpointId, file, look, downloads }: FileRowProps) {
  const path = usePathname();
  const params = useSearchParams();
  if (file === undefined)
    return (
      <Row>
        <Cell colSpan={COLUMNS.length} className="text-faint">
          …
        </Cell>
      </Row>
    );
  const next = new URLSearchParams(params);
  next.set("file", file.path);
  const name = visibleText(file.path);
  return (
    <Row>
      <Cell className="w-full max-w-0 truncate font-mono text-12" title={name}>
        {look === "inside" ? <RowLink href={`${path}?${next.toString()}`}>{name}</RowLink> : name}
      </Cell>
      <Cell from="sm" align="right" className="text-soft">
        {formatCount(file.parts)}
      </Cell>
      <Cell from="md" align="right" className="font-mono text-12 text-soft">
        {file.crc32 ?? "–"}
      </Cell>
      <Cell align="right">{formatBytes(file.sizeBytes)}</Cell>
      <Cell from="sm" align="right" className="py-[4px]">
        {downloads === "offered" && (
          <DownloadButton
            label={`Download ${name}`}
            disabled={look === "only"}
            wanted={{ kind: "checkpoint file", checkpointId, path: file.path }}
          />
        )}
      </Cell>
    </Row>
  );
}
