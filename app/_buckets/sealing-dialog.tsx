"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { SEALINGS, type Sealing, type SealingView } from "#protocol/checkpoint/sealing.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { SealKeyImport } from "./seal-key-import.tsx";
import { SealKeys } from "./seal-keys.tsx";
import { checkpointsWords, SEALING_CHOICES, SEALING_STATES } from "./sealing-words.ts";

/** Shows the encryption of a bucket's checkpoints: the setting, the effect of losing a key, and the keys. */
export function SealingDialog({ view, onClose }: { view: ProfileView; onClose: () => void }) {
  const { id } = view;
  const sealing = useQuery({ queryKey: ["profiles", "sealing", id], queryFn: () => hub.sealing.get.query({ id }) });
  const client = useQueryClient();
  const changed = (): void => void client.invalidateQueries({ queryKey: ["profiles"] });
  const shown = sealing.data;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Encryption of ${visibleText(view.profile.name)}`}
      intro="Nodes encrypt checkpoints before they leave. The bucket then shows their sizes, not their contents."
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      {sealing.isError && <FaultNote fault={faultOf(sealing.error)} onRetry={() => void sealing.refetch()} />}
      {shown === undefined && !sealing.isError && <Skeleton className="h-40 w-full" />}
      {shown !== undefined && (
        <div className="flex flex-col gap-4">
          <Choice key={shown.sealing} profileId={id} shown={shown} onChanged={changed} />
          {shown.lockedCheckpoints > 0 && (
            <Banner tone="lost" title={`${checkpointsWords(shown.lockedCheckpoints)} cannot be read here.`}>
              They were encrypted for a key that this hub does not have. Import the exported key below; without it
              nobody can read them.
            </Banner>
          )}
          <SealKeys profileId={id} keys={shown.keys} onChanged={changed} />
          <SealKeyImport profileId={id} wanted={shown.lockedCheckpoints > 0} onChanged={changed} />
        </div>
      )}
    </Dialog>
  );
}

const isSealing = (value: string): value is Sealing => SEALINGS.some((one) => one === value);

function Choice({ profileId, shown, onChanged }: { profileId: string; shown: SealingView; onChanged: () => void }) {
  const [chosen, setChosen] = useState<Sealing>(shown.sealing);
  const [understood, setUnderstood] = useState(false);
  const whyNot = useWhyNot("admin");
  const set = useAction(() => hub.sealing.set.mutate({ id: profileId, sealing: chosen, understood }));
  const isNew = shown.sealing === "off" && chosen !== "off";
  return (
    <section aria-label="New checkpoints">
      <p className="text-soft">
        {SEALING_STATES[shown.sealing]}
        {shown.sealing !== "off" &&
          shown.plainCheckpoints > 0 &&
          ` ${checkpointsWords(shown.plainCheckpoints)} from before stay unencrypted.`}
      </p>
      <Field label="New checkpoints are" hint="Checkpoints already in the bucket stay as they are.">
        {(ids) => (
          <Select
            {...ids}
            label="New checkpoints are"
            value={chosen}
            disabled={whyNot !== null}
            choices={SEALING_CHOICES}
            onChange={(value) => isSealing(value) && setChosen(value)}
          />
        )}
      </Field>
      {isNew && (
        <Banner tone="risk" title="Whoever loses the key loses the checkpoints.">
          <ul className="my-1 list-disc space-y-1 pl-4">
            <li>
              The key exists only in this hub, sealed. If the hub is lost with its backups and its master key, only an
              exported copy of the key decrypts these checkpoints. Nobody else can: not the provider, not us.
            </li>
            <li>Export the key once it is made, and keep the copy outside of the hub.</li>
            <li>
              Nodes need the hub to restore: it gives a node the key of the one checkpoint it was asked to restore.
            </li>
            <li>Browsers cannot download encrypted checkpoints yet: restore them to a node.</li>
            <li>Nodes with an older worker save nothing into this bucket until they are updated, and say so.</li>
          </ul>
          <label className="mt-2 flex items-start gap-2 text-ink">
            <input
              type="checkbox"
              className="mt-1"
              checked={understood}
              onChange={(event) => setUnderstood(event.target.checked)}
            />
            I understand that lost keys cannot be replaced by anybody.
          </label>
        </Banner>
      )}
      {chosen !== shown.sealing && (
        <div className="mt-2 flex justify-end">
          <Button
            look="main"
            disabled={set.busy || whyNot !== null || (isNew && !understood)}
            onClick={() =>
              set.run(undefined, () => {
                onChanged();
                say("quiet", SEALING_STATES[chosen]);
              })
            }
          >
            {chosen === "off" ? "Switch encryption off" : isNew ? "Switch encryption on" : "Save"}
          </Button>
        </div>
      )}
      {set.fault !== null && <FaultNote fault={set.fault} />}
    </section>
  );
}
