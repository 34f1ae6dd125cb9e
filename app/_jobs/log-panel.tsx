"use client";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { LOG_ANSWER_BYTES } from "#protocol/jobs/job-log.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { PlainSelect } from "../_ui/controls/plain-select.tsx";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { LastLines } from "../_ui/layout/last-lines.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { keptWords, logText, shownFrom, withEarlier, withLater, type ShownLog } from "./log-text.ts";

/** Interval of asking for new output, ms. While somebody asks, the node reports at this pace. */
const EVERY_MS = 1_500;

/** Shows the output of an attempt of a job, new lines as they come, and finds lines in it. `attempts`: numbers, newest first. */
export function LogPanel({ jobId, attempts }: { jobId: string; attempts: readonly number[] }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const [words, setWords] = useAddressWord("find", "", "same");
  const attempt = chosen ?? attempts[0] ?? 1;
  const client = useQueryClient();
  const queryKey = ["jobs", "log", jobId, attempt];
  const log = useQuery({
    queryKey,
    queryFn: async () => {
      const before = client.getQueryData<ShownLog>(queryKey);
      const from = before === undefined ? {} : { fromByte: before.nextByte };
      return withLater(before, await hub.jobs.log.query({ id: jobId, attempt, ...from }));
    },
    refetchInterval: ({ state }) => (state.data?.isRunning === false ? false : EVERY_MS),
    staleTime: 0,
  });
  const kept = log.data === undefined ? null : keptWords(log.data);
  return (
    <Panel
      title="Output"
      label="Output"
      note={kept !== null && <span className="nums">{kept}</span>}
      side={
        <>
          {attempts.length > 1 && (
            <div className="w-36">
              <PlainSelect
                label="Attempt"
                value={String(attempt)}
                placeholder="Attempt"
                choices={attempts.map((number) => ({ value: String(number), label: `Attempt ${number}` }))}
                onChange={(value) => setChosen(Number(value))}
              />
            </div>
          )}
          <SearchField label="Find in the output" value={words} placeholder="Find in the output" onChange={setWords} />
        </>
      }
    >
      {words !== "" ? (
        <FoundLines jobId={jobId} attempt={attempt} words={words} />
      ) : log.data === undefined ? (
        log.isError ? (
          <QueryFault query={log} />
        ) : (
          <SkeletonRows rows={4} label="Loading the output" />
        )
      ) : (
        <WholeLog
          log={log.data}
          onEarlier={async (shown) => {
            const first = shown.firstByte ?? 0;
            const fromByte = Math.max(first, shownFrom(shown) - LOG_ANSWER_BYTES);
            const answer = await hub.jobs.log.query({ id: jobId, attempt, fromByte });
            client.setQueryData<ShownLog>(queryKey, (now) => (now === undefined ? now : withEarlier(now, answer)));
          }}
        />
      )}
    </Panel>
  );
}

function WholeLog({ log, onEarlier }: { log: ShownLog; onEarlier: (log: ShownLog) => Promise<void> }) {
  const earlier = useAction(() => onEarlier(log));
  const hasEarlier = log.firstByte !== null && shownFrom(log) > log.firstByte;
  const text = logText(log);
  if (text === "" && !log.isRunning) return <p className="px-4 py-6 text-soft">{whyNothing(log)}</p>;
  return (
    <>
      {(hasEarlier || earlier.fault !== null) && (
        <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
          {earlier.fault !== null && <FaultNote fault={earlier.fault} />}
          <Button size="small" disabled={earlier.busy} onClick={() => earlier.run(undefined)}>
            Show earlier output
          </Button>
        </div>
      )}
      <LastLines label="Program output" text={text} />
      <footer className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-12 text-soft">
        <span className="min-w-0 flex-1">
          {log.whyNotKept !== null
            ? `Not kept: ${visibleText(log.whyNotKept)}.`
            : log.isRunning
              ? "New output appears here."
              : "The attempt is over."}
        </span>
        {text !== "" && <Copy text={text} label="Copy what is shown" />}
      </footer>
    </>
  );
}

function whyNothing({ whyNotKept, totalBytes }: ShownLog): string {
  if (whyNotKept !== null) return `No output is kept: ${visibleText(whyNotKept)}.`;
  return totalBytes === 0 ? "The program has written nothing." : "Nothing of the output came into the bucket.";
}

function FoundLines({ jobId, attempt, words }: { jobId: string; attempt: number; words: string }) {
  const found = useQuery({
    queryKey: ["jobs", "find-in-log", jobId, attempt, words],
    queryFn: () => hub.jobs.findInLog.query({ id: jobId, attempt, words }),
    placeholderData: keepPreviousData,
  });
  if (found.data === undefined)
    return found.isError ? <QueryFault query={found} /> : <SkeletonRows rows={4} label="Searching the output" />;
  const { lines, hasMore } = found.data;
  if (lines.length === 0) return <p className="px-4 py-6 text-soft">No line has these words.</p>;
  return (
    <>
      <LastLines label="Lines that were found" text={lines.map(({ text }) => text).join("\n")} />
      <p className="nums border-t border-line px-4 py-2 text-12 text-soft">
        {lines.length === 1 ? "One line" : `${formatCount(lines.length)} lines`}
        {hasMore && ", and there are more"}
      </p>
    </>
  );
}
