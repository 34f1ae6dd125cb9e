"use client";
import { usePrefetchQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { UploadButton } from "../../../_browser-transfers/uploads/upload-button.tsx";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../../_hub/faults/fault-of.ts";
import { profilesQuery, usageQuery } from "../../../_hub/queries/queries.ts";
import { useTitle } from "../../../_hub/address/title.ts";
import { BrowseTools } from "../../../_browse/browse-tools.tsx";
import type { BucketRow } from "../../../_browse/folder/folder-pages.ts";
import { PlacePath } from "../../../_browse/place-path.tsx";
import { NOTHING_CHOSEN } from "../../../_browse/selection/selection.ts";
import { folderAbove, usePlace } from "../../../_browse/use-place.ts";
import { useFolder } from "../../../_browse/folder/use-folder.ts";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../../_ui/controls/button.tsx";
import { onDemand, onItsWay } from "../../../_ui/loading/on-demand.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Skeleton } from "../../../_ui/loading/skeleton.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

const FolderList = onItsWay(() =>
  import("../../../_browse/folder/folder-list.tsx").then((module) => module.FolderList),
);
const SelectionBar = onDemand(() =>
  import("../../../_browse/selection/selection-bar.tsx").then((module) => module.SelectionBar),
);
const DetailPanel = onDemand(() =>
  import("../../../_browse/detail/detail-panel.tsx").then((module) => module.DetailPanel),
);
const OrphansPanel = onDemand(() => import("../../../_browse/orphans-panel.tsx").then((module) => module.OrphansPanel));
const VersionsList = onDemand(() => import("../../../_browse/versions-list.tsx").then((module) => module.VersionsList));
const JobsPanel = onItsWay(() => import("../../../_browse/jobs/jobs-panel.tsx").then((module) => module.JobsPanel));
const SumUp = onDemand(() => import("../../../_browse/search/sum-up.tsx").then((module) => module.SumUp));
const SearchList = onDemand(() =>
  import("../../../_browse/search/search-list.tsx").then((module) => module.SearchList),
);
const UsagePanel = onItsWay(() => import("../../../_buckets/usage-panel.tsx").then((module) => module.UsagePanel));
const SelectionActions = onDemand(() =>
  import("../../../_browse/selection/selection-actions.tsx").then((module) => module.SelectionActions),
);
const FolderDownload = onDemand(() =>
  import("../../../_browse/selection/folder-download.tsx").then((module) => module.FolderDownload),
);

/** Shows the content of one bucket. */
export function BucketPageView({ id }: { id: string }) {
  const profiles = useQuery(profilesQuery());
  // Prefetched, because it is shown below the rows once they have arrived.
  usePrefetchQuery(usageQuery(id));
  const view = profiles.data?.find((profile) => profile.id === id);
  useTitle(view === undefined ? null : visibleText(view.profile.name));
  if (view !== undefined) return <BucketBody view={view} />;
  if (profiles.isError) return <FaultNote fault={faultOf(profiles.error)} onRetry={() => void profiles.refetch()} />;
  if (profiles.data !== undefined)
    return (
      <FaultNote
        fault={{ code: "NOT_FOUND", subject: "this bucket" }}
        action={<ButtonLink href="/buckets">All buckets</ButtonLink>}
      />
    );
  return (
    <output aria-label="Loading the bucket" className="flex flex-col gap-5">
      <Skeleton className="h-9 w-72" />
      <div className="h-96 rounded-2 border border-line bg-panel" />
    </output>
  );
}

function BucketBody({ view }: { view: ProfileView }) {
  const { place, go, href } = usePlace();
  const [turn, setTurn] = useState(0);
  const [summing, setSumming] = useState<string | null>(null);
  const prefix = place.folder + place.filter;
  const { folder, state } = useFolder({ profileId: view.id, prefix, turn });
  const [chosen, setChosen] = useState({ in: place.folder, selection: NOTHING_CHOSEN });
  // A selection belongs to its folder.
  const selection = chosen.in === place.folder ? chosen.selection : NOTHING_CHOSEN;
  const select = (next: typeof selection): void => setChosen({ in: place.folder, selection: next });
  const open = (row: BucketRow): void =>
    row.kind === "folder" ? go({ folder: row.key, filter: "", words: "", key: "" }, "step") : go({ key: row.key });
  const above = folderAbove(place.folder);
  const up = above === null ? null : () => go({ folder: above, filter: "", words: "", key: "" }, "step");
  const folderHref = (to: string): string => href({ folder: to, filter: "", words: "", key: "" });
  // Content below the rows waits for them, because their number moves it.
  const isThere = place.show !== "objects" || state.count > 0 || state.isComplete || state.fault !== null;
  const { profile } = view;
  const [isDownloading, setDownloading] = useState(false);
  // A selection that is not visible is ignored.
  const isTicked = place.show === "objects" && selection.chosen.size > 0;
  const lists = { place, selection, onSelect: select, onOpen: open, onUp: up };
  return (
    <>
      <BucketHead view={view} />
      <PlacePath bucket={profile.bucket} folder={place.folder} href={folderHref} />
      <div
        className={
          place.key === "" ? "grid gap-4" : "grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(320px,400px)]"
        }
      >
        {place.key !== "" && (
          <div className="min-w-0 lg:order-2">
            <DetailPanel key={place.key} view={view} objectKey={place.key} onClose={() => go({ key: "" })} />
          </div>
        )}
        <Panel label="Folder">
          <BrowseTools place={place} go={go}>
            <FolderTools
              view={view}
              place={place}
              go={go}
              count={state.count}
              isTicked={isTicked}
              onAll={() => select({ chosen: new Map([[prefix, null]]), anchor: 0 })}
              onDownload={() => setDownloading(true)}
              onSumUp={() => setSumming(place.folder)}
              onList={() => setTurn(turn + 1)}
            />
          </BrowseTools>
          {summing === place.folder && (
            <SumUp profileId={view.id} folder={place.folder} onClose={() => setSumming(null)} />
          )}
          {place.show === "versions" ? (
            <VersionsList profileId={view.id} prefix={prefix} folder={place.folder} href={folderHref} />
          ) : place.show === "uploads" ? (
            <OrphansPanel profileId={view.id} prefix={prefix} />
          ) : place.words === "" ? (
            <FolderList
              profileId={view.id}
              folder={folder}
              state={state}
              turn={turn}
              onSort={(to) => go(to, "step")}
              {...lists}
            />
          ) : (
            <SearchList key={JSON.stringify([place.folder, place.words])} profileId={view.id} {...lists} />
          )}
          {place.show === "objects" && selection.chosen.size > 0 && (
            <SelectionBar selection={selection} onClear={() => select(NOTHING_CHOSEN)}>
              <SelectionActions
                profileId={view.id}
                place={place}
                selection={selection}
                go={go}
                onStarted={() => select(NOTHING_CHOSEN)}
              />
            </SelectionBar>
          )}
        </Panel>
      </div>
      {isThere && (
        <>
          <JobsPanel profileId={view.id} />
          <UsagePanel profileId={view.id} />
        </>
      )}
      {isDownloading && (
        <FolderDownload
          profileId={view.id}
          place={place}
          selection={isTicked ? selection : null}
          onClose={() => setDownloading(false)}
        />
      )}
    </>
  );
}

function BucketHead({ view }: { view: ProfileView }) {
  const { profile } = view;
  return (
    <PageHead
      title={visibleText(profile.name)}
      about={
        <span className="nums">
          {formatBytes(view.storedBytes)} in {formatCount(view.checkpoints)} complete{" "}
          {view.checkpoints === 1 ? "checkpoint" : "checkpoints"}
          {profile.prefix !== "" && (
            <>
              {" "}
              below <span className="font-mono text-12">{visibleText(profile.prefix)}</span>
            </>
          )}
        </span>
      }
      actions={<ButtonLink href="/buckets">All buckets</ButtonLink>}
    />
  );
}

interface FolderToolsProps extends Pick<ReturnType<typeof usePlace>, "place" | "go"> {
  view: ProfileView;
  /** Number of known rows. */
  count: number;
  /** True when a selection exists and is visible. */
  isTicked: boolean;
  onAll: () => void;
  onDownload: () => void;
  onSumUp: () => void;
  onList: () => void;
}

/** Shows the actions on the folder that is open. */
function FolderTools(props: FolderToolsProps) {
  const { view, place, go, count, isTicked, onAll, onDownload, onSumUp, onList } = props;
  const whyNotDownload = useWhyNot("operator");
  return (
    <>
      {place.show === "objects" && place.words === "" && (
        <Button
          size="small"
          disabled={count === 0}
          title="Everything in this list, including rows not loaded yet and everything below its folders"
          onClick={onAll}
        >
          Choose all
        </Button>
      )}
      <UploadButton profileId={view.id} prefix={place.folder} label="Upload to this folder" />
      <Button
        size="small"
        aria-label={isTicked ? "Download selection…" : "Download this folder…"}
        whyNot={whyNotDownload}
        onClick={onDownload}
      >
        Download…
      </Button>
      <Button
        size="small"
        aria-pressed={place.sizes === "shown"}
        title="Lists everything below each folder on the screen to add up its size"
        onClick={() => go({ sizes: place.sizes === "shown" ? "" : "shown" }, "step")}
      >
        Folder sizes
      </Button>
      <Button size="small" onClick={onSumUp}>
        Calculate size
      </Button>
      <Button size="small" onClick={onList}>
        Refresh
      </Button>
    </>
  );
}
