"use client";
import { branchWords } from "#protocol/history/passed-over.ts";
import { stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import { Link } from "../../../_ui/navigation/link.tsx";
import type { ReactNode } from "react";
import { formatDuration } from "#protocol/base/units.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { SummedWords } from "../../../_adopt/summed-words.tsx";
import { Age } from "../../../_hub/live/age.tsx";
import { metricWords, pieceWord } from "../../../_runs/checkpoint-words.ts";
import { Copy } from "../../../_ui/controls/copy.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { onDemand } from "../../../_ui/loading/on-demand.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { fullTime } from "../../../_ui/text/times.ts";

const AdoptionActions = onDemand(() =>
  import("../../../_adopt/adoption-actions.tsx").then((part) => part.AdoptionActions),
);

/** Shows the location of a checkpoint, its manifest and checksums, and its origin. */
export function CheckpointFacts({ view }: { view: CheckpointView }) {
  const address = view.location.startsWith("s3://") ? view.location : `s3://${view.location}`;
  const manifest = view.manifestKey === null ? null : `s3://${view.bucket}/${view.manifestKey}`;
  const metrics = metricWords(view.metrics);
  return (
    <Panel label="Facts">
      <dl className="divide-y divide-line">
        <Fact name="Location">
          <Mono text={address} label="Copy s3:// address" />
        </Fact>
        {view.piece?.nodes !== undefined && (
          <Fact name="Pieces">
            <span>
              {view.piece.nodes.length} of {view.piece.of} nodes
            </span>{" "}
            <span className="text-soft">each wrote what it had on its own disk: {view.piece.nodes.join(", ")}</span>
          </Fact>
        )}
        {view.doubt !== null && (
          <Fact name={pieceWord(view) === null ? "Doubtful" : "Piece"}>
            {pieceWord(view) !== null && <span>{pieceWord(view)}: </span>}
            <span className="text-risk">{visibleText(view.doubt)}.</span>{" "}
            <span className="text-soft">
              It is kept safe as it was found. Nothing goes on from it by itself; restore it, or use{" "}
              <span className="font-mono text-12">--from {view.step}</span>, when it is good enough for you.
            </span>
          </Fact>
        )}
        {view.place !== null && (
          <Fact name="Place">
            <span className="font-mono text-12 break-all">{visibleText(view.place.path)}</span>{" "}
            <span className="text-soft">
              {KIND_WORDS[view.place.kind]} in{" "}
              {view.place.root === undefined
                ? "the watched folder"
                : `the watched folder ${visibleText(view.place.root.name)}`}
              ; a restore puts it back there{SOURCE_WORDS[stepSourceOf(view.place) ?? "name"]}
            </span>
          </Fact>
        )}
        <Fact name="Manifest">
          {manifest === null ? (
            <span className="text-soft">not written yet: it comes last, when every byte is there</span>
          ) : (
            <Mono text={manifest} label="Copy s3:// address of the manifest" />
          )}
        </Fact>
        {view.manifestSha256 !== null && (
          <Fact name="Digest">
            <Mono text={view.manifestSha256} label="Copy the digest" prefix="sha256 " />
          </Fact>
        )}
        {view.sealed !== null && (
          <Fact name="Encryption">
            {view.sealed.isKeyHere ? (
              <>
                encrypted by the node that wrote it, for the key{" "}
                <span className="font-mono text-12">{view.sealed.fingerprint}</span> of its bucket. It is restored to
                nodes, which are given its key for that; browsers cannot download it.
              </>
            ) : (
              <span className="text-lost">
                encrypted for a key that this hub does not have: an admin imports the exported key under Buckets,
                Encryption. Without it nobody can read this checkpoint.
              </span>
            )}
          </Fact>
        )}
        {view.adoption !== null && (
          <>
            <Fact name="Adopted">
              <Age at={view.adoption.adoptedAt} />
              {view.adoption.adoptedBy !== "" && ` by ${visibleText(view.adoption.adoptedBy)}`}: {view.adoption.verdict}
              , {visibleText(view.adoption.reason)}. Its objects are another tool's, and never changed or deleted here.
            </Fact>
            <Fact name="Checksums">
              <SummedWords adoption={view.adoption} fileCount={view.fileCount} />{" "}
              <AdoptionActions view={view} adoption={view.adoption} />
            </Fact>
          </>
        )}
        {view.adoption === null && (
          <Fact name="Lineage">
            <span className="nums">
              epoch {view.writerEpoch}, attempt <span className="font-mono text-12">{visibleText(view.attempt)}</span>
              {view.branch !== null ? (
                `, a new line: ${branchWords(view.branch)}`
              ) : view.parent === null ? (
                ", the run started fresh in this epoch"
              ) : (
                <>
                  , went on from{" "}
                  <Link href={`/runs/${encodeURIComponent(view.run)}`} className="font-mid hover:underline">
                    {stepWords(view.parent.step)}
                  </Link>{" "}
                  of epoch {view.parent.epoch}
                </>
              )}
            </span>
          </Fact>
        )}
        <Fact name={view.adoption === null ? "Captured" : "Written"}>
          <span className="nums">
            {fullTime(view.capturedAt)}
            {view.committedAt !== null &&
              view.adoption === null &&
              `, safe ${formatDuration(view.committedAt - view.capturedAt)} later`}
          </span>
        </Fact>
        {metrics !== "" && <Fact name="Metrics">{metrics}</Fact>}
      </dl>
    </Panel>
  );
}

/** Source of the step number when the checkpoint's name does not contain it. */
const KIND_WORDS = { folder: "a folder", file: "a file", files: "the first of several files" } as const;

const SOURCE_WORDS = {
  name: "",
  inside: ". Its name has no step; a file in it does",
  said: ". Its step was given when it was saved",
  time: ". Nothing in it names a step, so it is ordered by time",
} as const;

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 px-4 py-1.5 leading-[26px] sm:grid-cols-[112px_minmax(0,1fr)]">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}

function Mono({ text, label, prefix = "" }: { text: string; label: string; prefix?: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <span className="min-w-0 font-mono text-12 break-all">
        {prefix}
        {visibleText(text)}
      </span>
      <Copy text={text} label={label} />
    </span>
  );
}
