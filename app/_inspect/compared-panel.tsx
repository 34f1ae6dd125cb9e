"use client";
import { useRef } from "react";
import type { PlacesCompared } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Mark } from "../_ui/indicators/mark.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, SpacerRow, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { changeRows, changeSentence, countChanges } from "./change-rows.ts";
import { Warnings } from "./warnings.tsx";

const COLUMNS: readonly Column[] = [
  { key: "what", head: "Change", from: "sm" },
  { key: "name", head: "Name" },
  { key: "from", head: "From", align: "right", from: "sm" },
  { key: "to", head: "To", align: "right" },
];
const HEIGHT = 35;
const LISTS = [
  { id: "all", label: "All" },
  { id: "reshaped", label: "Shape or dtype" },
  { id: "bytes", label: "Other bytes" },
  { id: "added", label: "Added" },
  { id: "removed", label: "Removed" },
] as const;

/** Shows the differences of tensors and files between two checkpoints. */
export function ComparedPanel({ data }: { data: PlacesCompared }) {
  const [of, setOf] = useAddressWord("of", "tensors");
  const [show, setShow] = useAddressWord("show", "all");
  const [words, setWords] = useAddressWord("q", "", "same");
  const subject = of === "files" && data.files !== null ? "files" : "tensors";
  const all = changeRows(data, subject);
  const list = LISTS.find(({ id }) => id === show) ?? LISTS[0];
  const rows = all.filter(
    ({ kind, name }) => (list.id === "all" || kind === list.id) && name.toLowerCase().includes(words.toLowerCase()),
  );
  const counts = countChanges(all);
  const frame = useRef<HTMLDivElement>(null);
  const shown = useRowWindow({ count: rows.length, rowHeight: HEIGHT, rows: frame });
  return (
    <Panel
      label="Result"
      title={
        <FilterWords
          label="Of"
          words={[
            { id: "tensors", label: "Tensors" },
            ...(data.files === null ? [] : [{ id: "files", label: "Files" }]),
          ]}
          value={subject}
          onChange={setOf}
        />
      }
      note={<span className="nums">{changeSentence(data, subject)}</span>}
      side={
        <>
          <FilterWords
            label="Changes"
            words={LISTS.map(({ id, label }) => ({ id, label, count: counts[id] })).filter(
              ({ id, count }) => id === "all" || id === list.id || count > 0,
            )}
            value={list.id}
            onChange={setShow}
          />
          <SearchField label="Filter changes" value={words} onChange={setWords} placeholder="Part of a name" />
        </>
      }
    >
      {data.warnings.length > 0 && (
        <div className="border-b border-line px-4 py-2.5">
          <Warnings warnings={data.warnings} />
        </div>
      )}
      {rows.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          {all.length === 0 ? "Nothing is known to have changed." : "No change of this kind matches."}
        </p>
      ) : (
        <div ref={frame}>
          <Table label="Changes" columns={COLUMNS}>
            {shown.before > 0 && <SpacerRow columns={COLUMNS.length} height={shown.before} />}
            {rows.slice(shown.first, shown.end).map((row) => (
              <Row key={`${row.kind} ${row.name}`}>
                <Cell from="sm" className="whitespace-nowrap text-soft">
                  <span className="inline-flex items-center gap-1.5">
                    <Mark tone={row.tone} />
                    {row.word}
                  </span>
                </Cell>
                <Cell className="w-full max-w-0 truncate font-mono text-12" title={visibleText(row.name)}>
                  <span className="mr-2 sm:hidden">
                    <Mark tone={row.tone} label={row.word} className="inline" />
                  </span>
                  {visibleText(row.name)}
                </Cell>
                <Cell from="sm" align="right" className="font-mono text-12 text-soft">
                  {visibleText(row.from)}
                </Cell>
                <Cell align="right" className="font-mono text-12">
                  {visibleText(row.to)}
                </Cell>
              </Row>
            ))}
            {shown.after > 0 && <SpacerRow columns={COLUMNS.length} height={shown.after} />}
          </Table>
        </div>
      )}
      {(subject === "files" ? (data.files?.omitted ?? 0) : data.omitted) > 0 && (
        <p className="nums border-t border-line px-4 py-2.5 text-soft">
          {formatCount(subject === "files" ? (data.files?.omitted ?? 0) : data.omitted)} more changes are not listed.
        </p>
      )}
    </Panel>
  );
}
