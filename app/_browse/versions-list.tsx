"use client";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { useState } from "react";
import type { PlanBucketJob } from "#protocol/buckets/bucket-jobs.ts";
import type { ObjectVersion } from "#protocol/buckets/bucket.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { UnreadableNames } from "../_ui/tables/unreadable-names.tsx";
import { shortText, visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { countOf } from "./jobs/job-words.ts";
import { MOST_CHOSEN } from "./selection/selection.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Name" },
  { key: "state", head: "", label: "Which it is" },
  { key: "version", head: "Version", from: "md" },
  { key: "size", head: "Size", align: "right", from: "sm" },
  { key: "changed", head: "Changed", align: "right", from: "sm" },
  { key: "acts", head: "", label: "What can be done", align: "right" },
];

const PlanDialog = onDemand(() => import("./jobs/plan-dialog.tsx").then((module) => module.PlanDialog));

const first = (): string | null => null;

const itemOf = ({ key, versionId }: ObjectVersion) => ({ key, versionId });
const isHiding = ({ isDeleteMarker, isLatest }: ObjectVersion): boolean => isDeleteMarker && isLatest;

/** Returns the label of the button that restores a version; null for the present version and for superseded delete markers. */
function wayBack(version: ObjectVersion): string | null {
  if (isHiding(version)) return "Undelete…";
  return version.isDeleteMarker || version.isLatest ? null : "Bring back…";
}

/** Lists all object versions and delete markers of a folder, with buttons that restore older versions. */
export function VersionsList({
  profileId,
  prefix,
  folder,
  href,
}: {
  profileId: string;
  prefix: string;
  folder: string;
  href: (folder: string) => string;
}) {
  const whyNot = useWhyNot("operator");
  const [asked, setAsked] = useState<PlanBucketJob["items"] | null>(null);
  const jobs = useQuery({
    queryKey: ["transfers", "bucket-jobs", profileId],
    queryFn: () => hub.bucket.jobs.query({ profileId }),
  });
  // Part of the query key, so that the list reloads after a job has restored versions.
  const ended = jobs.data?.filter(({ action, endedAt }) => action === "revive" && endedAt !== null).length ?? 0;
  const list = useInfiniteQuery({
    placeholderData: keepPreviousData,
    queryKey: ["bucket", "versions", profileId, prefix, ended],
    queryFn: ({ pageParam, signal }) =>
      hub.bucket.versions.query({ profileId, prefix, cursor: pageParam, limit: 200 }, { signal }),
    initialPageParam: first(),
    getNextPageParam: (page) => page.nextCursor,
    retry: false,
  });
  const pages = list.data?.pages ?? [];
  const folders = pages.flatMap((page) => page.folders);
  const versions = pages.flatMap((page) => page.versions);
  const unreadable = [...new Set(pages.flatMap((page) => page.unreadable))];
  const hidden = versions.filter(isHiding).slice(0, MOST_CHOSEN);
  return (
    <>
      {hidden.length > 1 && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2">
          <span className="nums flex-1 text-soft">
            {countOf(hidden.length)} of this folder {list.hasNextPage ? "so far " : ""}are deleted.
          </span>
          <Button
            size="small"
            disabled={whyNot !== null}
            title={whyNot ?? undefined}
            onClick={() => setAsked(hidden.map(itemOf))}
          >
            Undelete all of them…
          </Button>
        </p>
      )}
      <Listed
        query={list}
        rows={list.data === undefined ? null : [...folders, ...versions]}
        loading={{ label: "Loading versions", rows: 6 }}
        empty={
          pages[0]?.isSupported === false ? (
            <Empty title="This store keeps no versions">It does not support the request.</Empty>
          ) : (
            <Empty title="Nothing is in this folder" />
          )
        }
        more="More"
        note={
          versions.length === 0
            ? undefined
            : `${formatCount(versions.length)} versions${list.hasNextPage ? " so far" : ""}`
        }
      >
        {() => (
          <Table label="Versions" columns={COLUMNS}>
            {folders.map((key) => (
              <Row key={key}>
                <Cell className="max-w-0 min-w-40" colSpan={6}>
                  <Link href={href(key)} className="hover:underline" dir="ltr">
                    {shortText(key.slice(folder.length), 200)}
                  </Link>
                </Cell>
              </Row>
            ))}
            {versions.map((version) => (
              <VersionRow
                key={`${version.key} ${version.versionId}`}
                version={version}
                folder={folder}
                onRevive={() => setAsked([itemOf(version)])}
              />
            ))}
          </Table>
        )}
      </Listed>
      <UnreadableNames first={unreadable} />
      {asked !== null && (
        <PlanDialog
          profileId={profileId}
          action="revive"
          from={folder}
          items={asked}
          onClose={() => setAsked(null)}
          onStarted={() => setAsked(null)}
        />
      )}
    </>
  );
}

interface VersionRowProps {
  version: ObjectVersion;
  /** Current folder, which names leave out. */
  folder: string;
  onRevive: () => void;
}

function VersionRow({ version, folder, onRevive }: VersionRowProps) {
  const whyNot = useWhyNot("operator");
  const name = shortText(version.key.slice(folder.length), 200);
  const revive = wayBack(version);
  return (
    <Row>
      <Cell className="max-w-0 min-w-28 truncate">
        <span dir="ltr">{name}</span>
        <span className="nums block truncate text-12 text-faint sm:hidden">
          {version.isDeleteMarker ? "" : `${formatBytes(version.sizeBytes)} · `}
          <Age at={version.modifiedAt} />
        </span>
      </Cell>
      <Cell>
        {version.isDeleteMarker ? <Tag tone="quiet">deleted</Tag> : version.isLatest && <Tag tone="safe">present</Tag>}
      </Cell>
      <Cell from="md" className="max-w-40 truncate font-mono text-12 text-faint">
        {visibleText(version.versionId)}
      </Cell>
      <Cell align="right" from="sm">
        {version.isDeleteMarker ? "" : formatBytes(version.sizeBytes)}
      </Cell>
      <Cell align="right" from="sm" className="text-12 text-faint">
        <Age at={version.modifiedAt} />
      </Cell>
      <Cell align="right">
        {revive !== null && (
          <Button
            size="small"
            disabled={whyNot !== null}
            title={whyNot ?? undefined}
            aria-label={`${revive} ${name}, ${formatBytes(version.sizeBytes)}`}
            onClick={onRevive}
          >
            {revive}
          </Button>
        )}
      </Cell>
    </Row>
  );
}
