"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { formatCount } from "#protocol/base/units.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { MOST_HOMES, type HomeView, type RunHomesView } from "#protocol/wire/homes.ts";
import { hub } from "../_hub/queries/client.ts";
import { Age } from "../_hub/live/age.tsx";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { homesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { IconButton } from "../_ui/controls/button.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { behindWords, copiesChoices, moved } from "./homes-words.ts";

const ALL = "all";

/** Shows the buckets of a run: the content of each, their order, and the number of copies per checkpoint. */
export function HomesPanel({ run }: { run: string }) {
  const homes = useQuery(homesQuery(run));
  const view = homes.data;
  return (
    <Panel
      title="Storage locations"
      note={view === undefined ? undefined : <span className="nums">{behindWords(view)}</span>}
    >
      {view !== undefined ? (
        <Homes view={view} onChanged={() => void homes.refetch()} />
      ) : homes.isError ? (
        <QueryFault query={homes} />
      ) : (
        <SkeletonRows rows={2} label="Loading storage locations" />
      )}
    </Panel>
  );
}

function Homes({ view, onChanged }: { view: RunHomesView; onChanged: () => void }) {
  const whyNot = useWhyNot("operator");
  const set = useAction(({ profileIds, copies }: { profileIds: string[]; copies: number | null }) => {
    const most = copies === null ? null : Math.min(copies, profileIds.length);
    return hub.homes.set.mutate({ run: view.run, profileIds, copies: most }).then(onChanged);
  });
  const { homes, others, copies } = view;
  const ids = homes.map(({ profileId }) => profileId);
  const isStill = whyNot !== null || set.busy;
  return (
    <>
      {set.fault !== null && (
        <div className="p-3">
          <FaultNote fault={set.fault} />
        </div>
      )}
      <ol aria-label="Storage locations in their order" className="divide-y divide-line">
        {homes.map((home, index) => (
          <li key={home.profileId} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
            <HomeWords home={home} />
            <span className="ml-auto flex">
              <IconButton
                label={`Move ${visibleText(home.name)} up`}
                size="small"
                disabled={isStill || index === 0}
                onClick={() => set.run({ profileIds: moved(ids, index, -1), copies })}
              >
                <ArrowUp size={14} aria-hidden />
              </IconButton>
              <IconButton
                label={`Move ${visibleText(home.name)} down`}
                size="small"
                disabled={isStill || index === homes.length - 1}
                onClick={() => set.run({ profileIds: moved(ids, index, 1), copies })}
              >
                <ArrowDown size={14} aria-hidden />
              </IconButton>
              <IconButton
                label={`Remove ${visibleText(home.name)} from the storage locations`}
                size="small"
                disabled={isStill || homes.length === 1}
                onClick={() => set.run({ profileIds: ids.filter((id) => id !== home.profileId), copies })}
              >
                <X size={14} aria-hidden />
              </IconButton>
            </span>
          </li>
        ))}
      </ol>
      <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-3">
        {homes.length > 1 && (
          <div className="w-56 max-w-full">
            <Select
              label="Copies of each checkpoint"
              value={copies === null ? ALL : String(copies)}
              disabled={isStill}
              onChange={(value) => set.run({ profileIds: ids, copies: value === ALL ? null : Number(value) })}
              choices={copiesChoices(homes.length)}
            />
          </div>
        )}
        {others.length > 0 && homes.length < MOST_HOMES && (
          <div className="w-56 max-w-full">
            <Select
              label="Add a storage location"
              value={null}
              placeholder="Add a storage location"
              disabled={isStill}
              onChange={(id) => set.run({ profileIds: [...ids, id], copies })}
              choices={others.map(({ profileId, name, bucket }) => ({
                value: profileId,
                label: visibleText(name),
                note: visibleText(bucket),
              }))}
            />
          </div>
        )}
        <p className="max-w-[72ch] flex-1 basis-64 text-12 text-soft">
          {homes.length > 1
            ? "A node saves to the location that it reaches fastest and copies to the others when idle. A restore reads the fastest whole copy."
            : others.length > 0
              ? "With a second location, saving continues while one bucket is down."
              : "Add another bucket profile to give the run a second storage location."}
          {homes.length > 1 && homes.some(({ sealing }) => sealing !== "off") && ` ${sealedWords(homes)}`}
        </p>
      </div>
    </>
  );
}

/** Returns the note on encryption. The strictest bucket decides for all, whichever a checkpoint is saved in first. */
const sealedWords = (homes: readonly HomeView[]): string =>
  homes.some(({ sealing }) => sealing === "names")
    ? "New checkpoints are encrypted in all of them, names of files too, as the strictest of them requires."
    : "New checkpoints are encrypted in all of them, as the strictest of them requires.";

function HomeWords({ home }: { home: HomeView }) {
  const { name, bucket, prefix, complete, bytes, newestStep, away } = home;
  return (
    <span className="flex min-w-0 flex-wrap items-baseline gap-x-3">
      <span className="font-mid">{visibleText(name)}</span>
      <span className="font-mono text-12 break-all text-soft">{visibleText(`${bucket}/${prefix}`)}</span>
      <span className="nums text-soft">
        {complete === 0
          ? "nothing complete yet"
          : `${formatCount(complete)} complete, ${formatBytes(bytes)}${newestStep === null ? "" : ` · newest ${stepWords(newestStep)}`}`}
      </span>
      {away !== null && (
        <Tag tone="risk">
          out of reach of {formatCount(away.nodes)} {away.nodes === 1 ? "node" : "nodes"} since <Age at={away.since} />
        </Tag>
      )}
    </span>
  );
}
