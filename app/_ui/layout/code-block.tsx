import { Copy } from "../controls/copy.tsx";
import { visibleText } from "../text/visible-text.ts";

/** Shows lines to copy. The copy holds the exact text; the display escapes invisible characters. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-bg">
      <pre
        aria-label={label}
        className="py-2.5 pr-11 pl-3 font-mono text-12 leading-[18px] [overflow-wrap:anywhere] whitespace-pre-wrap"
      >
        {text.split("\n").map(visibleText).join("\n")}
      </pre>
      <div className="absolute top-px right-px rounded-md bg-bg p-0.5">
        <Copy text={text} label={`Copy ${label}`} />
      </div>
    </div>
  );
}
