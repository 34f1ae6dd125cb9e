import type { CodeView } from "#protocol/fleet/people.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Shows a link that the hub reveals only once. */
export function LinkOnce({ made }: { made: { view: CodeView; link: string } }) {
  const { kind, email, expiresAt, createdAt } = made.view;
  const lasts = formatDuration(expiresAt - createdAt);
  return (
    <div className="flex flex-col gap-2">
      <p className="text-soft">
        Pass it to <b className="font-mid text-ink [overflow-wrap:anywhere]">{visibleText(email)}</b>. It is good once,
        for {lasts}, and {kind === "reset" ? "sets another password" : "opens the account"} for whoever has it.
      </p>
      <CodeBlock text={made.link} label={kind === "reset" ? "reset link" : "invitation link"} />
      <p className="text-12 text-faint">It is shown only here. Lost? Make another: the old link stops working.</p>
    </div>
  );
}
