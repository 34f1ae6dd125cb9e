"use client";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { OrphanUpload } from "#protocol/buckets/bucket.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { Listed } from "../_hub/queries/listed.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { UnreadableNames } from "../_ui/tables/unreadable-names.tsx";
import { shortText, visibleText } from "../_ui/text/visible-text.ts";
import { ProtectedWords } from "./detail/protected-words.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Key" },
  { key: "size", head: "Parts", align: "right" },
  { key: "started", head: "Started", align: "right", from: "sm" },
  { key: "act", head: "", label: "What can be done" },
];

const WORDS = { button: "Abort", busy: "Aborting", keep: "Keep it" } as const;
const first = (): string | null => null;

/** Lists incomplete multipart uploads. Their parts are billed, but no object listing shows them. */
export function OrphansPanel({ profileId, prefix }: { profileId: string; prefix: string }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("admin");
  const [aborting, setAborting] = useState<readonly OrphanUpload[]>([]);
  const queryKey = ["bucket", "orphans", profileId, prefix];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => hub.bucket.orphans.query({ profileId, prefix, cursor: pageParam }, { signal }),
    initialPageParam: first(),
    getNextPageParam: (page) => page.nextCursor,
    retry: false,
  });
  const rows = list.data?.pages.flatMap((page) => page.uploads) ?? null;
  const unreadable = [...new Set(list.data?.pages.flatMap((page) => page.unreadable))];
  const uploads = rows ?? [];
  const free = uploads.filter(({ protection }) => protection === null);
  const bytes = uploads.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
  return (
    <>
      <Listed
        query={list}
        rows={rows}
        loading={{ label: "Loading unfinished uploads", rows: 4 }}
        empty={
          <Empty title="No unfinished upload">
            Multipart uploads that were neither completed nor aborted are listed here, with the size of their parts.
          </Empty>
        }
        more="More"
      >
        {(shown) => (
          <>
            <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
              <p className="nums min-w-0 flex-1 basis-64 text-soft">
                {formatCount(uploads.length)} {uploads.length === 1 ? "upload" : "uploads"}, {formatBytes(bytes)} in
                parts
                {list.hasNextPage && " so far"}
              </p>
              {free.length > 1 && (
                <Button
                  size="small"
                  disabled={whyNot !== null}
                  title={whyNot ?? undefined}
                  onClick={() => setAborting(free.slice(0, 100))}
                >
                  Abort {formatCount(Math.min(100, free.length))}…
                </Button>
              )}
            </div>
            <Table label="Unfinished uploads" columns={COLUMNS}>
              {shown.map((upload) => (
                <Row key={`${upload.key} ${upload.uploadId}`}>
                  <Cell className="max-w-0 min-w-40">
                    <div className="truncate" dir="ltr" title={visibleText(upload.key)}>
                      {shortText(upload.key, 200)}
                    </div>
                    {upload.protection !== null && (
                      <div className="text-12 text-faint">
                        <ProtectedWords protection={upload.protection} />
                      </div>
                    )}
                  </Cell>
                  <Cell align="right">{upload.sizeBytes === null ? "not known" : formatBytes(upload.sizeBytes)}</Cell>
                  <Cell align="right" from="sm" className="text-12 text-faint">
                    {upload.startedAt === 0 ? "not known" : <Age at={upload.startedAt} />}
                  </Cell>
                  <Cell align="right">
                    {upload.protection === null && (
                      <Button
                        size="small"
                        disabled={whyNot !== null}
                        title={whyNot ?? undefined}
                        aria-label={`Abort the upload of ${shortText(upload.key, 80)}`}
                        onClick={() => setAborting([upload])}
                      >
                        Abort…
                      </Button>
                    )}
                  </Cell>
                </Row>
              ))}
            </Table>
          </>
        )}
      </Listed>
      <UnreadableNames first={unreadable} />
      {aborting.length > 0 && (
        <ConfirmDialog
          title={aborting.length === 1 ? "Abort this upload?" : `Abort ${formatCount(aborting.length)} uploads?`}
          words={WORDS}
          run={() =>
            hub.bucket.abortOrphans.mutate({
              profileId,
              uploads: aborting.map(({ key, uploadId }) => ({ key, uploadId })),
            })
          }
          onDone={() => void client.invalidateQueries({ queryKey })}
          onClose={() => setAborting([])}
        >
          Their parts ({formatBytes(aborting.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0))}) are gone then.
          Whoever still sends one of them has to begin again.
        </ConfirmDialog>
      )}
    </>
  );
}
