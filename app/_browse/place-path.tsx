"use client";
import { Link } from "../_ui/navigation/link.tsx";
import { shortText } from "../_ui/text/visible-text.ts";

interface PlacePathProps {
  bucket: string;
  folder: string;
  href: (folder: string) => string;
}

/**
 * Shows breadcrumbs: the bucket and every folder down to the current one, each a link. Includes folders with an empty
 * name.
 */
export function PlacePath({ bucket, folder, href }: PlacePathProps) {
  const segments = folder === "" ? [] : folder.slice(0, -1).split("/");
  return (
    <nav aria-label="Folder" className="flex min-w-0 flex-wrap items-center gap-x-1 font-mono text-12">
      <Link href={href("")} className="inline-block min-h-6 leading-6 text-soft hover:text-ink hover:underline">
        s3://{bucket}
      </Link>
      {segments.map((segment, depth) => {
        const here = `${segments.slice(0, depth + 1).join("/")}/`;
        const isLast = depth === segments.length - 1;
        return (
          <span key={here} className="flex min-w-0 items-center gap-x-1">
            <span className="text-faint">/</span>
            <Link
              href={href(here)}
              dir="ltr"
              aria-current={isLast ? "page" : undefined}
              className={`inline-block min-h-6 min-w-0 truncate leading-6 hover:underline ${isLast ? "text-ink" : "text-soft hover:text-ink"}`}
            >
              {segment === "" ? "(no name)" : shortText(segment, 60)}
            </Link>
          </span>
        );
      })}
    </nav>
  );
}
