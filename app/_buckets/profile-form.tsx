"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { PresetView, ProfileView } from "#protocol/wire/profile-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { Form, FormFault } from "../_forms/form.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { presetsQuery, profilesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { ImportPanel } from "./import-panel.tsx";
import { emptyForm, formOf, readForm, withImport, type ProfileForm } from "./profile-draft.ts";
import { ProfileFields } from "./profile-fields.tsx";
import { sameBucket } from "./same-bucket.ts";
import { TestResult } from "./test-result.tsx";

interface ProfileFormProps {
  /** The profile to edit; null creates one. */
  edited: ProfileView | null;
  saveWord: string;
  onSaved: (profile: ProfileView) => void;
}

/** Creates or edits a bucket profile. "Test" tries every operation with the typed values before anything is stored. */
export function ProfileFormView(props: ProfileFormProps) {
  const presets = useQuery(presetsQuery());
  if (presets.isError && presets.data === undefined)
    return <FaultNote fault={faultOf(presets.error)} onRetry={() => void presets.refetch()} />;
  const first = presets.data?.[0];
  if (presets.data === undefined || first === undefined)
    return (
      <output aria-label="Loading" className="flex flex-col gap-3 py-2">
        {[0, 1, 2, 3, 4].map((row) => (
          <Skeleton key={row} className="h-8 w-full" />
        ))}
      </output>
    );
  return (
    <LoadedForm
      {...props}
      presets={presets.data}
      initial={props.edited === null ? emptyForm(first) : formOf(props.edited)}
    />
  );
}

function LoadedForm({
  edited,
  saveWord,
  onSaved,
  presets,
  initial,
}: ProfileFormProps & { presets: PresetView[]; initial: ProfileForm }) {
  const client = useQueryClient();
  const [form, setForm] = useState(initial);
  const read = readForm(form);
  const others = useQuery(profilesQuery()).data ?? [];
  const same = read.ok
    ? sameBucket(
        read.profile,
        others.filter(({ id }) => id !== edited?.id),
      )
    : null;
  const test = useAction(async () => {
    if (!read.ok) return null;
    return hub.profiles.test.mutate({
      id: edited?.id ?? null,
      profile: read.profile,
      credential: read.credential,
      keyBy: read.keyBy,
    });
  });
  const save = useAction(async () => {
    if (!read.ok) return null;
    const { profile, credential, keyBy, about } = read;
    if (edited === null && credential !== null)
      return hub.profiles.create.mutate({ profile, credential, keyBy, about });
    // Pasted keys are only for new profiles: they are sealed for a new row.
    if (edited === null || (credential !== null && "handle" in credential)) return null;
    return hub.profiles.update.mutate({
      id: edited.id,
      version: edited.version,
      profile,
      credential,
      keyBy,
      about,
    });
  });
  const busy = test.busy || save.busy;

  const change = (next: (old: ProfileForm) => ProfileForm): void => {
    // The test result belongs to the previous values.
    if (test.result !== undefined && !test.busy) test.reset();
    setForm(next);
  };
  return (
    <Form
      label={edited === null ? "New bucket profile" : "Bucket profile"}
      errors={read.ok ? {} : read.errors}
      actions={[test, save]}
      onSubmit={() =>
        save.run(undefined, (profile) => {
          if (profile === null) return;
          void client.invalidateQueries({ queryKey: ["profiles"] });
          onSaved(profile);
        })
      }
    >
      {({ ask, shown }) => (
        <>
          {edited === null && <ImportPanel onChoose={(draft, key) => change((old) => withImport(old, draft, key))} />}
          <ProfileFields form={form} errors={shown} presets={presets} edited={edited} onChange={change} />
          {same !== null && (
            <div className="py-2">
              <Banner tone="risk" title={same.title}>
                {same.next}
              </Banner>
            </div>
          )}
          {test.result !== undefined && test.result !== null && !test.busy && <TestResult result={test.result} />}
          <FormFault />
          <FormEnd word={saveWord} busyWord="Saving" busy={save.busy} disabled={busy}>
            <Button disabled={busy} onClick={() => ask(() => test.run(undefined))}>
              {test.busy ? "Testing" : "Test"}
            </Button>
          </FormEnd>
        </>
      )}
    </Form>
  );
}
