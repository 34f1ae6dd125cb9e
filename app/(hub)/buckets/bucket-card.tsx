"use client";
import { useQueryClient } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { UploadButton } from "../../_browser-transfers/uploads/upload-button.tsx";
import { TestResult } from "../../_buckets/test-result.tsx";
import { Age } from "../../_hub/live/age.tsx";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button, ButtonLink } from "../../_ui/controls/button.tsx";
import { Copy } from "../../_ui/controls/copy.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { Tag } from "../../_ui/indicators/tag.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

const TakenNote = onDemand(() => import("../../_buckets/taken-note.tsx").then((module) => module.TakenNote));

interface ActionsProps {
  onCors: () => void;
  onSealing: () => void;
  onEdit: () => void;
  onRemove: () => void;
}

interface BucketCardProps extends ActionsProps {
  view: ProfileView;
}

/** Shows one bucket profile: location, stored bytes, and the last test. */
export function BucketCard({ view, onCors, onSealing, onEdit, onRemove }: BucketCardProps) {
  const client = useQueryClient();
  const whyNot = useWhyNot("admin");
  const whyNoRuns = useWhyNot("operator");
  const { profile } = view;
  const test = useAction(() => hub.profiles.test.mutate({ id: view.id, profile: null, credential: null }));
  const take = useAction(async () => {
    for (;;) {
      const taken = await hub.adoptions.takeRuns.mutate({ id: view.id });
      if (!taken.isRunning) return taken;
    }
  });
  const result = test.result ?? view.lastTest;
  return (
    <Panel
      label={profile.name}
      title={visibleText(profile.name)}
      note={
        result === null ? (
          <Tag tone="quiet">not tested yet</Tag>
        ) : (
          <span className="flex items-center gap-2">
            <Tag tone={result.ok ? "safe" : "lost"}>{result.ok ? "works" : "does not work"}</Tag>
            <span className="text-12 text-faint">
              tested <Age at={result.at} />
            </span>
          </span>
        )
      }
      side={
        <span className="flex flex-wrap items-center gap-1.5">
          <ButtonLink
            size="small"
            href={`/buckets/${encodeURIComponent(view.id)}`}
            aria-label={`Browse ${profile.name}`}
          >
            Browse
          </ButtonLink>
          <UploadButton profileId={view.id} label={`Upload to ${profile.name}`} />
          <Button
            size="small"
            disabled={test.busy || whyNot !== null}
            title={whyNot ?? undefined}
            aria-label={`Test ${profile.name}`}
            onClick={() => test.run(undefined, () => void client.invalidateQueries({ queryKey: ["profiles"] }))}
          >
            {test.busy ? "Testing" : "Test"}
          </Button>
          <Button
            size="small"
            disabled={take.busy || whyNoRuns !== null}
            title={whyNoRuns ?? "Record the runs that nodes wrote here without a hub; nothing is moved"}
            aria-label={`Take runs over in ${profile.name}`}
            onClick={() => take.run(undefined, () => void client.invalidateQueries({ queryKey: ["profiles"] }))}
          >
            {take.busy ? "Reading" : "Take runs over"}
          </Button>
          <ProfileActions
            name={profile.name}
            onCors={onCors}
            onSealing={onSealing}
            onEdit={onEdit}
            onRemove={onRemove}
          />
        </span>
      }
    >
      <ProfileFacts view={view} />
      {view.about.notes !== "" && (
        <p className="border-t border-line px-4 py-2.5 whitespace-pre-line text-soft [overflow-wrap:anywhere]">
          {view.about.notes.split("\n").map(visibleText).join("\n")}
        </p>
      )}
      {(take.fault !== null || take.result !== undefined) && (
        <div className="border-t border-line px-4 py-3">
          {take.fault !== null ? (
            <FaultNote fault={take.fault} />
          ) : (
            take.result !== undefined && <TakenNote taken={take.result} />
          )}
        </div>
      )}
      {(test.fault !== null || result !== null) && (
        <div className="border-t border-line px-4 py-3">
          {test.fault !== null && <FaultNote fault={test.fault} />}
          {result !== null && test.fault === null && (
            <details open={!result.ok || test.result !== undefined ? true : undefined}>
              <summary className="w-fit text-soft hover:text-ink">What was tested</summary>
              <div className="pt-2">
                <TestResult result={result} />
              </div>
            </details>
          )}
        </div>
      )}
    </Panel>
  );
}

/** Buttons that open the dialogs of a profile. */
function ProfileActions({ name, onCors, onSealing, onEdit, onRemove }: ActionsProps & { name: string }) {
  const whyNot = useWhyNot("admin");
  return (
    <>
      <Button
        size="small"
        disabled={whyNot !== null}
        title={whyNot ?? undefined}
        aria-label={`CORS of ${name}`}
        onClick={onCors}
      >
        CORS…
      </Button>
      <Button size="small" aria-label={`Encryption of ${name}`} onClick={onSealing}>
        Encryption…
      </Button>
      <Button
        size="small"
        disabled={whyNot !== null}
        title={whyNot ?? undefined}
        aria-label={`Edit ${name}`}
        onClick={onEdit}
      >
        Edit
      </Button>
      <Button
        size="small"
        disabled={whyNot !== null}
        title={whyNot ?? undefined}
        aria-label={`Remove ${name}`}
        onClick={onRemove}
      >
        Remove…
      </Button>
    </>
  );
}

function ProfileFacts({ view }: { view: ProfileView }) {
  const { profile } = view;
  const address = `s3://${profile.bucket}/${profile.prefix}`;
  return (
    <dl className="nums grid gap-x-6 gap-y-3 px-4 py-3 sm:grid-cols-2 lg:grid-cols-[minmax(0,2fr)_minmax(0,2fr)_repeat(4,auto)] lg:gap-x-10">
      <div className="min-w-0">
        <dt className="text-12 text-faint">Address</dt>
        <dd className="flex items-center gap-1">
          <span className="min-w-0 truncate font-mono text-12">{visibleText(address)}</span>
          <Copy text={address} label="Copy s3:// address" />
        </dd>
      </div>
      <div className="min-w-0">
        <dt className="text-12 text-faint">Endpoint</dt>
        <dd className="truncate font-mono text-12 leading-[26px]">
          {visibleText(profile.endpoint)} <span className="text-faint">{visibleText(profile.region)}</span>
        </dd>
      </div>
      <div>
        <dt className="text-12 text-faint">Key</dt>
        <dd className="font-mono text-12 leading-[26px]">…{visibleText(view.accessKeyHint)}</dd>
      </div>
      {view.sealing !== "off" && (
        <div>
          <dt className="text-12 text-faint">New checkpoints</dt>
          <dd className="leading-[26px]">encrypted{view.sealing === "names" && ", names too"}</dd>
        </div>
      )}
      <div>
        <dt className="text-12 text-faint">Used by</dt>
        <dd className="leading-[26px]">
          {formatCount(view.nodes)} {view.nodes === 1 ? "node" : "nodes"}, {formatCount(view.runs)}{" "}
          {view.runs === 1 ? "run" : "runs"}
        </dd>
      </div>
      <div>
        <dt className="text-12 text-faint">Holds</dt>
        <dd className="leading-[26px]">
          {formatBytes(view.storedBytes)}{" "}
          <span className="text-faint">
            in {formatCount(view.checkpoints)} {view.checkpoints === 1 ? "checkpoint" : "checkpoints"}
          </span>
        </dd>
      </div>
    </dl>
  );
}
