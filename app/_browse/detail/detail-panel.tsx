"use client";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { DownloadButton } from "../../_browser-transfers/downloads/download-button.tsx";
import { Age } from "../../_hub/live/age.tsx";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { Button, IconButton } from "../../_ui/controls/button.tsx";
import { Copy } from "../../_ui/controls/copy.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { CopyMenu } from "./copy-menu.tsx";
import { Pairs, Preview } from "./preview.tsx";
import { ProtectedWords } from "./protected-words.tsx";
import { formatBytes } from "../../_ui/text/sizes.ts";

const ShareDialog = onDemand(() => import("./share-dialog.tsx").then((module) => module.ShareDialog));

/** Shows the metadata of one object and a preview of its content. */
export function DetailPanel({
  view,
  objectKey,
  onClose,
}: {
  view: ProfileView;
  objectKey: string;
  onClose: () => void;
}) {
  const profileId = view.id;
  const whyNot = useWhyNot("operator");
  const [sharing, setSharing] = useState(false);
  const detail = useQuery({
    queryKey: ["bucket", "object", profileId, objectKey],
    queryFn: ({ signal }) => hub.bucket.describe.query({ profileId, key: objectKey }, { signal }),
    retry: false,
  });
  const object = detail.data;
  const name = objectKey.slice(objectKey.lastIndexOf("/", objectKey.length - 2) + 1);
  return (
    <Panel label="Object" className="flex max-h-[calc(100dvh-240px)] flex-col">
      <header className="flex items-start gap-2 border-b border-line px-4 py-2.5">
        <div className="min-w-0 flex-1">
          <h2 className="font-semibold [overflow-wrap:anywhere]" dir="ltr">
            {visibleText(name.slice(0, 300))}
          </h2>
          <p className="flex items-center gap-1 text-12 text-faint">
            <span className="min-w-0 truncate font-mono">{visibleText(objectKey.slice(0, 1024))}</span>
            <Copy text={`s3://${view.profile.bucket}/${objectKey}`} label="Copy s3:// address" />
          </p>
        </div>
        <IconButton label="Close the object" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="flex min-h-0 flex-col gap-3 overflow-y-auto px-4 py-3">
        {detail.isError ? (
          <FaultNote fault={faultOf(detail.error)} onRetry={() => void detail.refetch()} />
        ) : object === undefined ? (
          <SkeletonRows rows={4} label="Loading the object" />
        ) : (
          <>
            <dl className="nums grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
              <Fact name="Size">
                {formatBytes(object.sizeBytes)}{" "}
                <span className="text-faint">({formatCount(object.sizeBytes)} bytes)</span>
              </Fact>
              {object.modifiedAt !== null && (
                <Fact name="Changed">
                  <Age at={object.modifiedAt} />
                </Fact>
              )}
              <Fact name="ETag">
                <span className="font-mono text-12 [overflow-wrap:anywhere]">{visibleText(object.etag)}</span>
              </Fact>
              {object.storageClass !== null && <Fact name="Class">{visibleText(object.storageClass)}</Fact>}
              {object.contentType !== null && (
                <Fact name="Type">
                  <span className="[overflow-wrap:anywhere]">{visibleText(object.contentType)}</span>
                </Fact>
              )}
              {object.versionId !== null && (
                <Fact name="Version">
                  <span className="font-mono text-12 [overflow-wrap:anywhere]">{visibleText(object.versionId)}</span>
                </Fact>
              )}
            </dl>
            {object.checksums.length > 0 && <Pairs label="Checksums" pairs={object.checksums} />}
            {object.metadata.length > 0 && <Pairs label="Metadata" pairs={object.metadata} />}
            {object.protection !== null && (
              <p className="rounded-md border border-line bg-sunk px-3 py-2 text-12 text-soft">
                <ProtectedWords protection={object.protection} />
              </p>
            )}
            <div className="flex flex-wrap gap-2">
              <DownloadButton label="Download this object" wanted={{ kind: "object", profileId, key: objectKey }} />
              <Button
                size="small"
                disabled={whyNot !== null}
                title={whyNot ?? undefined}
                onClick={() => setSharing(true)}
              >
                Share link…
              </Button>
            </div>
            <CopyMenu profile={view.profile} objectKey={objectKey} />
            {whyNot === null ? (
              <Preview key={object.etag} profileId={profileId} object={object} />
            ) : (
              <p className="text-12 text-faint">Looking inside: {whyNot.toLowerCase()}</p>
            )}
          </>
        )}
      </div>
      {sharing && <ShareDialog profileId={profileId} keys={[objectKey]} onClose={() => setSharing(false)} />}
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}
