import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Link } from "../../_ui/navigation/link.tsx";
import type { Protection } from "#protocol/buckets/bucket.ts";
import { visibleText } from "../../_ui/text/visible-text.ts";

/** Says to what a protected object belongs, and where it can be removed. */
export function ProtectedWords({ protection }: { protection: Protection }) {
  const { why, checkpointId, run, step } = protection;
  if (checkpointId !== null && run !== null && step !== null) {
    return (
      <>
        {why === "manifest" ? "It is the manifest of " : "It belongs to "}
        <Link href={`/checkpoints/${encodeURIComponent(checkpointId)}`} className="text-ink underline">
          {visibleText(run)} {stepWords(step)}
        </Link>
        ; remove the checkpoint there.
      </>
    );
  }
  switch (why) {
    case "claim":
      return <>It records which node writes a run, and cannot be deleted.</>;
    case "keeping":
      return <>It records that a checkpoint is pinned, tagged, noted or in the trash, and cannot be deleted.</>;
    case "leftover":
      return (
        <>It lies among the data of runs and no checkpoint names it; the hub maintenance removes it when it is sure.</>
      );
    case "manifest":
      return <>It is below the prefix of manifests and is kept.</>;
    case "checkpoint":
      return <>The manifest of a checkpoint names it.</>;
    case "tidemark":
      return <>It is Tidemark&rsquo;s own.</>;
  }
}
