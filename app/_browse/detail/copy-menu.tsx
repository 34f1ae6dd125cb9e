"use client";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { CodeBlock } from "../../_ui/layout/code-block.tsx";
import { copyForms } from "#storage/s3/copy-forms.ts";

/** Shows the object as an address and as commands of other tools, collapsed. */
export function CopyMenu({ profile, objectKey }: { profile: ProfileDraft; objectKey: string }) {
  return (
    <details className="text-12">
      <summary className="w-fit text-soft hover:text-ink">Copy as address, command or curl</summary>
      <div className="flex flex-col gap-2 pt-2">
        {copyForms(profile, objectKey).map(({ id, label, text }) => (
          <div key={id}>
            <p className="pb-0.5 text-faint">{label}</p>
            <CodeBlock text={text} label={label} />
          </div>
        ))}
      </div>
    </details>
  );
}
