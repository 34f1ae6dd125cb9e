"use client";
import { Link } from "../navigation/link.tsx";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";

export type ButtonLook = "main" | "plain" | "quiet" | "danger";

const LOOK: Record<ButtonLook, string> = {
  main: "border-accent bg-accent text-accent-ink hover:brightness-110",
  plain: "border-line bg-panel text-ink hover:border-edge",
  quiet: "border-transparent bg-transparent text-soft hover:bg-sunk hover:text-ink",
  danger: "border-lost bg-lost text-panel hover:brightness-110",
};
const SIZE = { usual: "px-3 py-1.5 min-h-[34px]", small: "px-2 py-0.5 text-12 min-h-[26px]" };

const SQUARE = { usual: "size-[30px]", small: "size-[26px]" };

const shape = (look: ButtonLook, size: keyof typeof SIZE, extra: string | undefined): string =>
  classNames(
    "relative inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-mid whitespace-nowrap transition-[border-color,background-color,filter] duration-100 disabled:opacity-50 disabled:hover:brightness-100 aria-disabled:opacity-50",
    LOOK[look],
    SIZE[size],
    extra,
  );

interface Own {
  look?: ButtonLook;
  size?: keyof typeof SIZE;
  children?: ReactNode;
}

interface Barred {
  /** Reason why this person may not press the button, shown on hover; null when they may. */
  whyNot?: string | null;
}

export function Button(props: Own & Barred & ComponentProps<"button">) {
  const { look = "plain", size = "usual", className, whyNot = null, ...rest } = props;
  const barred = whyNot === null ? {} : { disabled: true, title: whyNot };
  return <button type="button" {...rest} {...barred} className={shape(look, size, className)} />;
}

export function ButtonLink({ look = "plain", size = "usual", className, ...rest }: Own & ComponentProps<typeof Link>) {
  return <Link {...rest} className={shape(look, size, className)} />;
}

interface IconButtonProps {
  label: string;
  size?: keyof typeof SQUARE;
}

/** Shows a square button with an icon; `label` is its accessible name. */
export function IconButton({ label, size = "usual", className, ...rest }: IconButtonProps & ComponentProps<"button">) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classNames(
        "relative inline-flex shrink-0 items-center justify-center rounded-md text-soft hover:bg-sunk hover:text-ink disabled:opacity-40",
        SQUARE[size],
        className,
      )}
    />
  );
}

/** Shows a keyboard key. With `inside` it takes the colors of the button around it. */
export function Key({ look = "alone", children }: { look?: "alone" | "inside"; children: ReactNode }) {
  return (
    <kbd
      className={classNames(
        "rounded-1 border px-1.5 font-mono text-11 leading-[16px]",
        look === "alone" ? "border-line bg-sunk text-faint" : "border-current opacity-70",
      )}
    >
      {children}
    </kbd>
  );
}
