"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import Link from "next/link";
import { formatBytes, formatCount } from "#protocol/units.ts";
import { Age } from "../_hub/age.tsx";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { faultOf } from "../_hub/fault-of.ts";
import { Button } from "../_ui/button.tsx";
import { Empty } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { Cell, Row, Table, type Column } from "../_ui/table.tsx";
import { Tag } from "../_ui/tag.tsx";
import { shortText, visibleText } from "../_ui/visible-text.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Name" },
  { key: "state", head: "", label: "Which it is" },
  { key: "version", head: "Version", from: "md" },
  { key: "size", head: "Size", align: "right" },
  { key: "changed", head: "Changed", align: "right", from: "sm" },
];

const first = (): string | null => null;

/** Every version of every object of a folder, and the markers that stand for deleted ones. */
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
  const list = useInfiniteQuery({
    queryKey: ["bucket", "versions", profileId, prefix],
    queryFn: ({ pageParam, signal }) =>
      hub.bucket.versions.query({ profileId, prefix, cursor: pageParam, limit: 200 }, { signal }),
    initialPageParam: first(),
    getNextPageParam: (page) => page.nextCursor,
    retry: false,
  });
  const pages = list.data?.pages ?? [];
  const folders = pages.flatMap((page) => page.folders);
  const versions = pages.flatMap((page) => page.versions);
  if (list.isError)
    return (
      <div className="p-3">
        <FaultNote fault={faultOf(list.error)} onRetry={() => void list.refetch()} />
      </div>
    );
  if (list.data === undefined) return <SkeletonRows rows={6} label="Loading versions" />;
  if (pages[0]?.isSupported === false)
    return <Empty title="This store keeps no versions">It does not know what it is asked for.</Empty>;
  if (folders.length + versions.length === 0 && !list.hasNextPage) return <Empty title="Nothing is in this folder" />;
  return (
    <>
      <Table label="Versions" columns={COLUMNS}>
        {folders.map((key) => (
          <Row key={key}>
            <Cell className="max-w-0 min-w-40" colSpan={5}>
              <Link href={href(key)} className="hover:underline" dir="ltr">
                {shortText(key.slice(folder.length), 200)}
              </Link>
            </Cell>
          </Row>
        ))}
        {versions.map((version) => (
          <Row key={`${version.key} ${version.versionId}`}>
            <Cell className="max-w-0 min-w-40 truncate">
              <span dir="ltr">{shortText(version.key.slice(folder.length), 200)}</span>
            </Cell>
            <Cell>
              {version.isDeleteMarker ? (
                <Tag tone="quiet">deleted</Tag>
              ) : (
                version.isLatest && <Tag tone="safe">present</Tag>
              )}
            </Cell>
            <Cell from="md" className="max-w-40 truncate font-mono text-12 text-faint">
              {visibleText(version.versionId)}
            </Cell>
            <Cell align="right">{version.isDeleteMarker ? "" : formatBytes(version.sizeBytes)}</Cell>
            <Cell align="right" from="sm" className="text-12 text-faint">
              <Age at={version.modifiedAt} />
            </Cell>
          </Row>
        ))}
      </Table>
      <div className="flex items-center gap-3 border-t border-line px-4 py-2 text-12 text-faint">
        <span className="nums">
          {formatCount(versions.length)} versions{list.hasNextPage ? " so far" : ""}
        </span>
        {list.hasNextPage && (
          <Button
            size="small"
            look="quiet"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            {list.isFetchingNextPage ? "Loading" : "More"}
          </Button>
        )}
      </div>
    </>
  );
}
