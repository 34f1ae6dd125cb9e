-- What each checkpoint takes up in its bucket; of those that are there it is counted once, from their manifests.
ALTER TABLE "Checkpoint" ADD COLUMN "objectCount" INTEGER;
ALTER TABLE "Checkpoint" ADD COLUMN "objectBytes" BIGINT;

UPDATE "Checkpoint" SET
    "objectCount" = 1 + (
        SELECT COUNT(DISTINCT json_extract("extent"."value", '$.key'))
        FROM "CheckpointContent", json_each("manifest", '$.files') AS "file", json_each("file"."value", '$.extents') AS "extent"
        WHERE "checkpointId" = "Checkpoint"."id"
    ),
    "objectBytes" = (
        SELECT LENGTH(CAST("manifest" AS BLOB)) FROM "CheckpointContent" WHERE "checkpointId" = "Checkpoint"."id"
    ) + (
        SELECT COALESCE(SUM(COALESCE(json_extract("extent"."value", '$.stored.length'), json_extract("extent"."value", '$.length'))), 0)
        FROM "CheckpointContent", json_each("manifest", '$.files') AS "file", json_each("file"."value", '$.extents') AS "extent"
        WHERE "checkpointId" = "Checkpoint"."id"
    )
WHERE "id" IN (SELECT "checkpointId" FROM "CheckpointContent" WHERE json_valid("manifest"));
