-- Every attempt that was ever announced, beginning with those still known.
CREATE TABLE "Attempt" (
    "run" TEXT NOT NULL,
    "attempt" TEXT NOT NULL,
    "writerEpoch" INTEGER NOT NULL,
    "nodeId" TEXT NOT NULL,
    "announcedAt" DATETIME NOT NULL,

    PRIMARY KEY ("run", "attempt")
);

INSERT INTO "Attempt" ("run", "attempt", "writerEpoch", "nodeId", "announcedAt")
SELECT "run", "attempt", "writerEpoch", "nodeId", "announcedAt" FROM "Checkpoint";
