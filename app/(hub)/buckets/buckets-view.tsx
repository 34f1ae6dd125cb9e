"use client";
import { useQuery } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../../_hub/address/address.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { profilesQuery } from "../../_hub/queries/queries.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { BucketCard } from "./bucket-card.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { formatBytes } from "../../_ui/text/sizes.ts";

const ProfileDialog = onDemand(() => import("./profile-dialog.tsx").then((module) => module.ProfileDialog));
const CorsDialog = onDemand(() => import("../../_buckets/cors-dialog.tsx").then((module) => module.CorsDialog));
const SealingDialog = onDemand(() =>
  import("../../_buckets/sealing-dialog.tsx").then((module) => module.SealingDialog),
);
const RemoveDialog = onDemand(() => import("./remove-dialog.tsx").then((module) => module.RemoveDialog));

/** Lists the buckets into which nodes save. The open dialog is kept in the address. */
export function BucketsView() {
  const profiles = useQuery(profilesQuery());
  const [adding, setAdding] = useAddressWord("add", "", "same");
  const [editing, setEditing] = useAddressWord("edit", "", "same");
  const [removing, setRemoving] = useAddressWord("remove", "", "same");
  const [letting, setLetting] = useAddressWord("cors", "", "same");
  const [sealing, setSealing] = useAddressWord("encryption", "", "same");
  const whyNot = useWhyNot("admin");
  const all = profiles.data ?? [];
  const edited = all.find((profile) => profile.id === editing);
  const opened = all.find((profile) => profile.id === letting);
  const sealed = all.find((profile) => profile.id === sealing);
  const removed = all.find((profile) => profile.id === removing);
  const stored = all.reduce((sum, profile) => sum + profile.storedBytes, 0);
  const add = (
    <Button look="main" disabled={whyNot !== null} title={whyNot ?? undefined} onClick={() => setAdding("1")}>
      Add bucket
    </Button>
  );
  return (
    <>
      <PageHead
        title="Buckets"
        about={
          profiles.data === undefined || all.length === 0
            ? ""
            : `${formatCount(all.length)} ${all.length === 1 ? "profile" : "profiles"}, ${formatBytes(stored)} of complete checkpoints`
        }
        actions={add}
      />
      {profiles.isError && profiles.data === undefined ? (
        <FaultNote fault={faultOf(profiles.error)} onRetry={() => void profiles.refetch()} />
      ) : profiles.data === undefined ? (
        <Panel label="Buckets">
          <SkeletonRows rows={3} label="Loading buckets" />
        </Panel>
      ) : all.length === 0 ? (
        <Panel label="Buckets">
          <Empty title="No bucket yet" action={whyNot === null ? add : undefined}>
            Any S3-compatible store: AWS S3, Cloudflare R2, Backblaze B2, MinIO and others. The keys stay sealed in the
            hub; nodes only get short-lived signed requests for their own folder.
            {whyNot !== null && <> {whyNot}</>}
          </Empty>
        </Panel>
      ) : (
        all.map((profile) => (
          <BucketCard
            key={profile.id}
            view={profile}
            onCors={() => setLetting(profile.id)}
            onSealing={() => setSealing(profile.id)}
            onEdit={() => setEditing(profile.id)}
            onRemove={() => setRemoving(profile.id)}
          />
        ))
      )}
      {adding !== "" && whyNot === null && <ProfileDialog edited={null} onClose={() => setAdding("")} />}
      {edited !== undefined && whyNot === null && (
        <ProfileDialog key={edited.id} edited={edited} onClose={() => setEditing("")} />
      )}
      {opened !== undefined && whyNot === null && (
        <CorsDialog key={opened.id} view={opened} onClose={() => setLetting("")} />
      )}
      {sealed !== undefined && <SealingDialog key={sealed.id} view={sealed} onClose={() => setSealing("")} />}
      {removed !== undefined && whyNot === null && <RemoveDialog view={removed} onClose={() => setRemoving("")} />}
    </>
  );
}
