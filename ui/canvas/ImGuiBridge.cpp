#include "ui/canvas/ImGuiBridge.h"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <cmath>
#include <cstring>

#include "ui/canvas/FontFile.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

// What we write beyond Latin-1: Greek (µ, Δ), general punctuation (…, –), arrows, blocks (▍),
// triangles, marks (✓, ✚).
constexpr ImWchar kGlyphs[] = {0x0020, 0x00FF, 0x0370, 0x03FF, 0x2010, 0x2027, 0x2190, 0x21FF,
                               0x2200, 0x22FF, 0x2580, 0x25FF, 0x2713, 0x271A, 0};

/// Adds the outlines of a face to the atlas; null when it has none.
ImFont* addFace(const QFont& face, float pixels, const ImFontConfig& config) {
  const QByteArray file = fontFile(face);
  if (file.isEmpty()) {
    return nullptr;
  }
  // The atlas frees what it owns by ImGui's allocator.
  void* owned = ImGui::MemAlloc(static_cast<std::size_t>(file.size()));
  std::memcpy(owned, file.constData(), static_cast<std::size_t>(file.size()));
  return ImGui::GetIO().Fonts->AddFontFromMemoryTTF(owned, static_cast<int>(file.size()), pixels,
                                                    &config, kGlyphs);
}

}  // namespace

ImGuiBridge::ImGuiBridge() {
  // CreateContext leaves a context that is current already as it is, but makes the first one.
  ImGuiContext* before = ImGui::GetCurrentContext();
  context_ = ImGui::CreateContext();
  ImGui::SetCurrentContext(context_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  ImGui::SetCurrentContext(before);
}

ImGuiBridge::~ImGuiBridge() {
  shutDown();
  ImGui::DestroyContext(context_);
}

bool ImGuiBridge::initialize() {
  // It comes again when the GL context was made anew; what is still set up is freed first.
  ImGui::SetCurrentContext(context_);
  shutDown();
  ready_ = ImGui_ImplOpenGL3_Init("#version 150");
  bakedRatio_ = 0;
  return ready_;
}

void ImGuiBridge::shutDown() {
  if (ready_) {
    ImGui::SetCurrentContext(context_);
    ImGui_ImplOpenGL3_Shutdown();
    ready_ = false;
  }
}

// Glyphs are baked in device pixels and drawn at one to one.
void ImGuiBridge::bakeFonts(double devicePixelRatio) {
  ImGuiIO& io = ImGui::GetIO();
  // The atlas is made anew when a window moves to a screen with another ratio of pixels, which has
  // another size of glyphs, and when the user chooses another font.
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  io.Fonts->Clear();
  io.Fonts->Flags |= ImFontAtlasFlags_NoMouseCursors;
  for (int role = 0; role < kFontRoles; ++role) {
    const QFont face = canvasFont(static_cast<FontRole>(role));
    // Qt's pixel size is the em square; ImGui's is from the ascender to the descender.
    const auto pixels = static_cast<float>(
        std::round(lineHeight(static_cast<FontRole>(role)) * devicePixelRatio));
    ImFontConfig config;
    config.OversampleH = 2;
    config.PixelSnapH = false;
    ImFont* font = addFace(face, pixels, config);
    if (font == nullptr) {
      // Fonts without outlines have no file; ImGui brings a face of its own.
      config.SizePixels = pixels;
      font = io.Fonts->AddFontDefault(&config);
    } else {
      // Signs that the face lacks, from those that stand in for it, as Qt takes them.
      config.MergeMode = true;
      for (const QString& family : face.families().mid(1)) {
        QFont other = face;
        other.setFamilies({family});
        addFace(other, pixels, config);
      }
    }
    fonts_.fonts[static_cast<std::size_t>(role)] = font;
  }
  fonts_.scale = static_cast<float>(1 / devicePixelRatio);
  ImGui_ImplOpenGL3_CreateFontsTexture();
  bakedRatio_ = devicePixelRatio;
  bakedFont_ = canvasFont(FontRole::kNormal);
}

void ImGuiBridge::render(const DisplayList& list, QSizeF logicalSize, double devicePixelRatio) {
  if (!ready_) {
    return;
  }
  ImGui::SetCurrentContext(context_);
  if (bakedRatio_ != devicePixelRatio || bakedFont_ != canvasFont(FontRole::kNormal)) {
    bakeFonts(devicePixelRatio);
  }
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(logicalSize.width()),
                    static_cast<float>(logicalSize.height())};
  io.DisplayFramebufferScale = {static_cast<float>(devicePixelRatio),
                                static_cast<float>(devicePixelRatio)};
  // The canvas takes all input: for ImGui the pointer is nowhere.
  io.MousePos = {-FLT_MAX, -FLT_MAX};
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  // The background list covers the whole area and belongs to no window of ImGui.
  paint(list, *ImGui::GetBackgroundDrawList(), fonts_);
  ImGui::Render();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace lockstep::ui
