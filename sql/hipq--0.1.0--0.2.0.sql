\echo Use "ALTER EXTENSION hipq UPDATE" to load this file. \quit
