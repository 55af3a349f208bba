#include "CIndexReader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The library is part of the toolchain, and not of the system: it is loaded when an index is read,
// so that the tool also runs without it. The declarations are those of indexstore.h.
typedef bool (*unit_applier)(void *, index_text);
typedef bool (*handle_applier)(void *, void *);

static struct {
  void *(*store_create)(const char *, void **);
  void (*store_dispose)(void *);
  bool (*units_apply)(void *, unsigned, void *, unit_applier);
  void *(*unit_create)(void *, const char *, void **);
  void (*unit_dispose)(void *);
  void (*unit_time)(void *, int64_t *, int64_t *);
  bool (*dependencies_apply)(void *, void *, handle_applier);
  int (*dependency_kind)(void *);
  bool (*dependency_is_system)(void *);
  index_text (*dependency_name)(void *);
  index_text (*dependency_path)(void *);
  void *(*record_create)(void *, const char *, void **);
  void (*record_dispose)(void *);
  bool (*occurrences_apply)(void *, void *, handle_applier);
  void *(*occurrence_symbol)(void *);
  void (*occurrence_position)(void *, unsigned *, unsigned *);
  index_text (*symbol_name)(void *);
  index_text (*symbol_usr)(void *);
} api;

static bool load(void *library) {
  struct {
    void *target;
    const char *name;
  } symbols[] = {
      {&api.store_create, "indexstore_store_create"},
      {&api.store_dispose, "indexstore_store_dispose"},
      {&api.units_apply, "indexstore_store_units_apply_f"},
      {&api.unit_create, "indexstore_unit_reader_create"},
      {&api.unit_dispose, "indexstore_unit_reader_dispose"},
      {&api.unit_time, "indexstore_unit_reader_get_modification_time"},
      {&api.dependencies_apply, "indexstore_unit_reader_dependencies_apply_f"},
      {&api.dependency_kind, "indexstore_unit_dependency_get_kind"},
      {&api.dependency_is_system, "indexstore_unit_dependency_is_system"},
      {&api.dependency_name, "indexstore_unit_dependency_get_name"},
      {&api.dependency_path, "indexstore_unit_dependency_get_filepath"},
      {&api.record_create, "indexstore_record_reader_create"},
      {&api.record_dispose, "indexstore_record_reader_dispose"},
      {&api.occurrences_apply, "indexstore_record_reader_occurrences_apply_f"},
      {&api.occurrence_symbol, "indexstore_occurrence_get_symbol"},
      {&api.occurrence_position, "indexstore_occurrence_get_line_col"},
      {&api.symbol_name, "indexstore_symbol_get_name"},
      {&api.symbol_usr, "indexstore_symbol_get_usr"},
  };
  for (size_t index = 0; index < sizeof(symbols) / sizeof(symbols[0]); index++) {
    void *address = dlsym(library, symbols[index].name);
    if (!address) return false;
    memcpy(symbols[index].target, &address, sizeof(address));
  }
  return true;
}

struct reading {
  void *store;
  void *context;
  void (*found)(void *, index_text, unsigned, unsigned, index_text, index_text);
  void (*outdated)(void *, index_text);
  index_text path;
  int64_t seconds;
  int64_t nanoseconds;
};

static char *copy(index_text text) {
  char *result = malloc(text.length + 1);
  if (!result) return NULL;
  memcpy(result, text.data, text.length);
  result[text.length] = 0;
  return result;
}

static bool read_occurrence(void *context, void *occurrence) {
  struct reading *reading = context;
  unsigned line, column;
  api.occurrence_position(occurrence, &line, &column);
  void *symbol = api.occurrence_symbol(occurrence);
  reading->found(reading->context, reading->path, line, column, api.symbol_name(symbol),
                 api.symbol_usr(symbol));
  return true;
}

// Whether a file has been changed since its unit was written: its lines have other numbers then.
static bool is_outdated(struct reading *reading, index_text text) {
  char *path = copy(text);
  if (!path) return true;
  struct stat file;
  bool exists = stat(path, &file) == 0;
  free(path);
  if (!exists) return false;
#ifdef __APPLE__
  struct timespec time = file.st_mtimespec;
#else
  struct timespec time = file.st_mtim;
#endif
  return time.tv_sec > reading->seconds ||
         (time.tv_sec == reading->seconds && time.tv_nsec > reading->nanoseconds);
}

static bool read_dependency(void *context, void *dependency) {
  struct reading *reading = context;
  // 2 is INDEXSTORE_UNIT_DEPENDENCY_RECORD.
  if (api.dependency_kind(dependency) != 2 || api.dependency_is_system(dependency)) return true;
  index_text path = api.dependency_path(dependency);
  if (is_outdated(reading, path)) {
    reading->outdated(reading->context, path);
    return true;
  }
  char *name = copy(api.dependency_name(dependency));
  if (!name) return true;
  void *error = NULL;
  void *record = api.record_create(reading->store, name, &error);
  free(name);
  if (!record) return true;
  reading->path = path;
  api.occurrences_apply(record, reading, read_occurrence);
  api.record_dispose(record);
  return true;
}

static bool read_unit(void *context, index_text unit_name) {
  struct reading *reading = context;
  char *name = copy(unit_name);
  if (!name) return true;
  void *error = NULL;
  void *unit = api.unit_create(reading->store, name, &error);
  free(name);
  if (!unit) return true;
  api.unit_time(unit, &reading->seconds, &reading->nanoseconds);
  api.dependencies_apply(unit, reading, read_dependency);
  api.unit_dispose(unit);
  return true;
}

const char *read_index(const char *library, const char *store, void *context,
                       void (*found)(void *, index_text, unsigned, unsigned, index_text,
                                     index_text),
                       void (*outdated)(void *, index_text)) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return "libIndexStore can't be loaded";
  if (!load(handle)) return "libIndexStore has another interface than expected";
  void *error = NULL;
  struct reading reading = {api.store_create(store, &error), context, found, outdated,
                            {NULL, 0}, 0, 0};
  if (!reading.store) return "the folder isn't an index store";
  api.units_apply(reading.store, 0, &reading, read_unit);
  api.store_dispose(reading.store);
  return NULL;
}
