#pragma once

#include <Qt>

// The tables from which a Monkey chooses.

namespace twb::test {

struct Press {
    Qt::Key key;
    Qt::KeyboardModifiers modifiers;
};

inline constexpr Qt::KeyboardModifiers kNone = Qt::NoModifier;
inline constexpr Qt::KeyboardModifiers kCtrl = Qt::ControlModifier;
inline constexpr Qt::KeyboardModifiers kShift = Qt::ShiftModifier;
inline constexpr Qt::KeyboardModifiers kCtrlShift = Qt::ControlModifier | Qt::ShiftModifier;
inline constexpr Qt::KeyboardModifiers kCtrlAlt = Qt::ControlModifier | Qt::AltModifier;

/// Keys that open no dialog.
inline constexpr Press kPresses[] = {
    {Qt::Key_B, kNone},           {Qt::Key_B, kShift},
    {Qt::Key_Delete, kNone},      {Qt::Key_Delete, kCtrl},
    {Qt::Key_Backspace, kNone},   {Qt::Key_D, kCtrl},
    {Qt::Key_D, kCtrlShift},      {Qt::Key_G, kCtrl},
    {Qt::Key_G, kCtrl},           {Qt::Key_C, kCtrl},
    {Qt::Key_X, kCtrl},           {Qt::Key_V, kCtrl},
    {Qt::Key_V, kCtrl},           {Qt::Key_A, kCtrl},
    {Qt::Key_X, kCtrlShift},      {Qt::Key_T, kCtrl},
    {Qt::Key_Period, kCtrl},      {Qt::Key_Period, kCtrl},
    {Qt::Key_F8, kNone},          {Qt::Key_F8, kShift},
    {Qt::Key_U, kCtrl},           {Qt::Key_J, kCtrl},
    {Qt::Key_L, kCtrl},           {Qt::Key_K, kCtrl},
    {Qt::Key_A, kCtrlShift},      {Qt::Key_R, kCtrlShift},
    {Qt::Key_T, kCtrlShift},      {Qt::Key_M, kCtrlShift},
    {Qt::Key_H, kCtrlShift},      {Qt::Key_V, kCtrlShift},
    {Qt::Key_F, kNone},           {Qt::Key_0, kCtrl},
    {Qt::Key_1, kCtrl},           {Qt::Key_2, kCtrl},
    {Qt::Key_Plus, kCtrl},        {Qt::Key_Minus, kCtrl},
    {Qt::Key_M, kCtrl},           {Qt::Key_Escape, kNone},
    {Qt::Key_F, kCtrlAlt},        {Qt::Key_U, kCtrlAlt},
    {Qt::Key_S, kCtrlAlt},        {Qt::Key_I, kCtrlAlt},
    {Qt::Key_C, kCtrlAlt},        {Qt::Key_G, kCtrlAlt},
    {Qt::Key_A, kCtrlAlt},        {Qt::Key_0, kCtrlAlt},
    {Qt::Key_1, kCtrlAlt},        {Qt::Key_2, kCtrlAlt},
    {Qt::Key_3, kCtrlAlt},        {Qt::Key_N, kCtrlAlt},
    {Qt::Key_1, Qt::AltModifier}, {Qt::Key_2, Qt::AltModifier},
    {Qt::Key_3, Qt::AltModifier}, {Qt::Key_M, kNone},
    {Qt::Key_M, kNone},           {Qt::Key_E, kCtrlAlt},
    {Qt::Key_G, kCtrlShift},      {Qt::Key_F1, kShift},
    {Qt::Key_5, Qt::AltModifier}, {Qt::Key_4, Qt::AltModifier},
    {Qt::Key_6, Qt::AltModifier}, {Qt::Key_7, Qt::AltModifier},
    {Qt::Key_Z, kCtrlAlt},        {Qt::Key_Return, kCtrl},
    {Qt::Key_Backspace, kCtrl},   {Qt::Key_Period, kNone},
    {Qt::Key_Period, kNone},      {Qt::Key_Period, Qt::AltModifier},
};

/// Valid, invalid and borderline values, none of which needs gigabytes.
inline constexpr const char* kTexts[] = {"",
                                         "0",
                                         "1",
                                         "-1",
                                         "3",
                                         "2.5",
                                         "1e-3",
                                         "true",
                                         "64",
                                         "x",
                                         "2x3",
                                         "3, 2, 1",
                                         "[4,4]",
                                         "8 8",
                                         "f16",
                                         "bool",
                                         "[]",
                                         "-0",
                                         "nan",
                                         "inf",
                                         "1e400",
                                         "digits/mlp_w1.npy",
                                         "no/such.npy",
                                         "ä→ü",
                                         "a\"b\\"};

} // namespace twb::test
